"""The public archive of a challenge, from which `scorer verify challenge` derives its boards."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zlib
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scorer.board.site.pages import ARCHIVE, PLACE
from scorer.errors import ChallengeError
from scorer.organising.public import public_settings, table_text
from scorer.record.log import Purpose
from scorer.settings.tracks import FILE
from scorer.store.snapshot import Snapshot
from tests.bundles import archive as sealed
from tests.bundles import members, with_manifest
from tests.commands import Answer, failed, here
from tests.committed import Committed, whole
from tests.live_challenges import GOOD
from tests.public_archives import END, archived, decided
from tests.second_verifier import problems
from tests.verification.test_published import Quiet, http

pytestmark = pytest.mark.usefixtures("serial")

BOARDS = ("main/leaderboard.json", "main/leaderboard.csv", "lists/leaderboard.json", "lists/leaderboard.csv")


def with_archive(live: Committed) -> Path:
    """The site of a challenge with its archive."""
    static = live.folder / "templates" / "static"
    static.mkdir(parents=True)
    archived(live, static / ARCHIVE)
    return live.rendered(END)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a challenge that is over, with its archive."""
    return with_archive(decided(tmp_path_factory.mktemp("over") / "live"))


def verified(content: dict[str, bytes], folder: Path, *options: str, **facts: Any) -> Answer:
    """What the command says about an archive of these members, and facts in its manifest."""
    (folder / ARCHIVE).write_bytes(sealed(with_manifest(content, **facts)))
    return here("verify", "challenge", folder / ARCHIVE, *options)


def test_the_boards_follow_from_the_archive(site: Path) -> None:
    """From the file, from a folder, and from an address."""
    with http(partial(Quiet, directory=site)) as address:
        for source in (site / PLACE, site, address):
            found = here("verify", "challenge", source)

            assert (found.code, failed(found)) == (0, []), found
            for name in BOARDS:
                assert f"ok      {name}: the derived board is the published one, byte for byte" in found.out
            assert ("files of the site are those of the archive" in found.out) == (source != site / PLACE)


def test_the_site_has_the_command_and_the_licence(site: Path, tmp_path: Path) -> None:
    """A site without a licence and an archive has neither."""
    page, rules = (site / "verification.html").read_text(), (site / "main" / "rules.html").read_text()
    other = whole(tmp_path / "live").folder / "site"

    assert f'href="{PLACE}"' in page
    assert "scorer verify challenge" in page
    assert "under the licence CC BY 4.0" in rules
    assert "verify challenge" not in (other / "verification.html").read_text()
    assert "licence" not in (other / "main" / "rules.html").read_text()


def test_a_head_is_in_the_log_or_not(site: Path) -> None:
    """Two histories are found with a head that a participant kept."""
    head = (site / "log.jsonl").read_text().splitlines()[4].split('"')[-2]

    assert here("verify", "challenge", site, "--head", f"5:{head}").code == 0
    assert here("verify", "challenge", site, "--head", "0" * 64).code == 1


def test_a_line_with_a_head_is_signed(tmp_path: Path) -> None:
    """It holds for all later states of the challenge, and for no other challenge."""
    live = decided(tmp_path / "live")
    archive = archived(live, tmp_path / ARCHIVE)
    line = here("heads", "--challenge", live.folder).out.strip()
    place, time, signed, name = line.split(" ", 3)
    last = json.loads((live.folder / "site" / "log.jsonl").read_text().splitlines()[-1])

    assert (place, time, name) == (f"1.{last['index']}:{last['head']}", "2027-01-31T13:00:00Z", "Live")
    found = here("verify", "challenge", archive, "--head", line)
    assert (found.code, "ok      the line with the head is signed by the key of receipts" in found.out) == (0, True)
    for wrong in (f"{place} 2027-01-30T13:00:00Z {signed} {name}", f"{place} {time} {signed} Other"):
        assert "the signature is wrong" in failed(here("verify", "challenge", archive, "--head", wrong))[0]
    other = f"1.{last['index']}:{'0' * 64} {time} {signed} {name}"
    assert len(failed(here("verify", "challenge", archive, "--head", other))) == 2
    assert here("verify", "log", live.folder / "site" / "log.jsonl", "--head", line).code == 0


def test_another_file_of_the_site_is_found(site: Path, tmp_path: Path) -> None:
    """The archive is that of the site."""
    copy = shutil.copytree(site, tmp_path / "copy")
    (copy / "main" / "leaderboard.csv").write_text("rank,team\r\n")

    (line,) = failed(here("verify", "challenge", copy))

    assert "main/leaderboard.csv" in line


def test_the_same_state_gives_the_same_archive_without_secrets(tmp_path: Path) -> None:
    """Challenges that differ in what nobody may see differ only in nonces and what follows from these."""
    first, second = decided(tmp_path / "a", "one-secret"), decided(tmp_path / "b")
    one, again = archived(first, tmp_path / "1.zip"), archived(first, tmp_path / "2.zip")
    other = archived(second, tmp_path / "3.zip")

    assert one.read_bytes() == again.read_bytes()
    assert b"secret" not in one.read_bytes()
    assert b"Bearer" not in one.read_bytes()
    differing = {name for name, content in members(one).items() if members(other)[name] != content}
    following = {"events.jsonl", "receipts.jsonl", "log.jsonl", "commitment.json", "commitment.txt", "receipts.pem"}
    names = {*(f"public/{name}" for name in (*following, *BOARDS)), "manifest.json"}
    assert differing <= names
    with first.store() as store:
        secrets = store.read(lambda view: [view.schema_row.salt, view.identity, *_secrets(view)])
    content = b"".join(members(one).values())
    assert not [secret for secret in secrets if secret.encode() in content]


def _secrets(view: Snapshot) -> list[str]:
    purposes: tuple[Purpose, ...] = ("solutions", "snapshots", "log", "commitment", "receipts")
    tokens = [event.values["sha256"] for event in view.all_events if event.kind == "token"]
    assert tokens
    return [*(view.secret(purpose).hex() for purpose in purposes), *tokens]


def test_without_submissions_the_boards_follow_from_their_judged_items(tmp_path: Path) -> None:
    """No byte of a submission is in the archive; both programs find a result that was changed."""
    live = decided(tmp_path / "live", entries="publish_submissions = false\n")
    archive = archived(live, tmp_path / ARCHIVE)
    content = members(archive)
    found = here("verify", "challenge", archive)

    assert (found.code, failed(found), problems(archive)) == (3, [], [])
    (line,) = [line for line in found.out.splitlines() if line.startswith("open")]
    assert "nothing binds the results to bytes of amber (lists), amber (main), birch (lists)" in line
    assert "The submissions do not become public." in (live.folder / "site" / "main" / "rules.html").read_text()
    assert not [name for name in content if name.startswith("submissions/")]
    rows = [json.loads(line) for line in content["tables/result.jsonl"].splitlines()]
    (one, two, *_) = [row for row in rows if row["hits"] and row["solution_digest"] == rows[-1]["solution_digest"]]
    one["hits"], two["hits"] = two["hits"], one["hits"]
    content["tables/result.jsonl"] = table_text(rows).encode()
    found = verified(content, tmp_path)
    assert found.code == 1
    assert [line for line in failed(found) if line.startswith("main/leaderboard.json: the derived board")]
    assert problems(archive)


def test_boards_of_another_version_are_compared_in_full(site: Path, tmp_path: Path) -> None:
    """What only one version has is open; a value, a rank or a column of a score that differs is wrong."""
    content = members(site / PLACE)
    name = "public/main/leaderboard.json"
    board = json.loads(content[name])
    rank, team, _, score, *_ = board["columns"]
    rows = board["rows"]
    changes: list[tuple[str, dict[str, object]]] = [
        ("ok", {}),
        ("open", {"columns": [column for column in board["columns"] if column != "tier"]}),
        ("open", {"columns": [*board["columns"], "true score"], "rows": [{**row, "true score": 1} for row in rows]}),
        ("open", {"truth": "the last team has won"}),
        ("FAILED", {"rules": ["All is allowed."]}),
        ("FAILED", {"phase": {**board["phase"], "end": "2027-01-31T06:00:00Z"}}),
        ("FAILED", {"rows": rows[1:]}),
        ("FAILED", {"rows": []}),
        ("FAILED", {"columns": [rank, team, "baseline"]}),
        ("FAILED", {"rows": [{**row, score: 0.25} for row in rows]}),
        ("FAILED", {"rows": [{key: value for key, value in row.items() if key != score} for row in rows]}),
    ]
    texts = [(outcome, json.dumps(board | change)) for outcome, change in changes]
    texts.append(("FAILED", json.dumps(board)[:-1] + ', "rows": []}'))
    for outcome, text in texts:
        content[name] = text.encode()
        answer = verified(content, tmp_path, scorer="0.1.7")
        if outcome != "FAILED" or '"rows": []}' not in text[-12:]:
            (line,) = [line for line in answer.out.splitlines() if "main/leaderboard.json" in line]
            assert line.startswith(outcome), line
        assert answer.code == {"ok": 0, "open": 3, "FAILED": 1}[outcome]


def test_a_table_of_another_version_has_no_column_twice(site: Path, tmp_path: Path) -> None:
    """A reader may take either; unknown columns are open."""
    content = members(site / PLACE)
    name = "public/main/leaderboard.csv"
    original = content[name].decode().splitlines()
    for column, code in (("nDCG@3", 1), ("true score", 3)):
        content[name] = "".join(
            f"{line},{column if number == 0 else 1}\r\n" for number, line in enumerate(original)
        ).encode()
        assert verified(content, tmp_path, scorer="0.1.7").code == code


def test_what_is_not_public_is_refused(tmp_path: Path) -> None:
    """Without a licence there is no archive."""
    live = whole(tmp_path / "live")
    target, arguments = tmp_path / ARCHIVE, ("--public", "--challenge", live.folder)

    assert "licence: is missing" in here("export", target, *arguments).err
    assert not target.exists()
    assert "leave out the other options" in here("export", target, *arguments, "--files").err


def test_what_visitors_never_see_is_in_no_archive(tmp_path: Path) -> None:
    """Solutions and submissions have the scores."""
    live = decided(tmp_path / "live", table='[visibility]\nscore = "never"\n')

    with pytest.raises(ChallengeError, match="hides score from visitors"):
        archived(live, tmp_path / ARCHIVE)
    assert not (tmp_path / ARCHIVE).exists()


def test_nothing_outside_of_the_archive_is_opened(site: Path, tmp_path: Path) -> None:
    """No request is sent, and no file of this machine is read, for any path in the settings."""
    content = members(site / PLACE)
    settings = content["challenge/challenge.toml"].decode()
    secret = tmp_path / "secret.txt"
    secret.write_text("q1:0:a|1\n")
    asked: list[str] = []

    class Asked(Quiet):
        def do_GET(self) -> None:  # noqa: N802 (the name that the server calls)
            asked.append(self.path)
            super().do_GET()

        do_HEAD = do_GET  # noqa: N815

    with http(partial(Asked, directory=site)) as address:
        for place in (
            f"{address}/solution.txt",
            str(secret),
            f"file://{secret}",
            "../secret.txt",
            "solutions/none.txt",
        ):
            for key in ("solution", "queries", "items", "exclude"):
                line = 'solution = "solutions/main.txt"\n'
                named = line if key != "solution" else ""
                changed = settings.replace(line, f'{named}{key} = "{place}"\n')
                content["challenge/challenge.toml"] = public_settings(changed, {}).encode()
                (line,) = failed(verified(content, tmp_path))
                assert f'the archive lacks the files of "tracks.main.{key}"' in line
    assert asked == []


def test_a_solution_that_grows_is_refused_before_it_is_read(site: Path, tmp_path: Path) -> None:
    """A stranger's solution has the limits of a team's file, and grows at most as a bundle may."""
    content = members(site / PLACE)
    squeezed = zlib.compressobj(9, wbits=31)
    bomb = b"".join(squeezed.compress(b"q1:0:a|1\n" * 1_000_000) for _ in range(10)) + squeezed.flush()
    for name in [name for name in content if name.startswith("solutions/")]:
        del content[name]
    content["challenge/solutions/main.txt"] = bomb
    content[f"solutions/{hashlib.sha256(bomb).hexdigest()}"] = bomb
    events = [json.loads(line) for line in content["public/events.jsonl"].splitlines()]
    for row in events:
        event = json.loads(row["event"])
        if event["kind"] == "basis":
            event["body"]["solution"] = hashlib.sha256(bomb).hexdigest()
            row["event"] = json.dumps(event)
    content["public/events.jsonl"] = table_text(events).encode()

    found = failed(verified(content, tmp_path))

    assert "expanded_mb" in found[-1] or "32 MB" in found[-1], found[-1]


def test_a_site_that_has_gone_on_is_to_be_looked_at_again(tmp_path: Path) -> None:
    """A late entry after the close changes all boards; the archive stays right, and is compared as far as it goes."""
    live = decided(tmp_path / "live")
    before = shutil.copytree(with_archive(live), tmp_path / "before")
    live.put("late/2.txt", GOOD, END + timedelta(hours=1))
    live.run(END + timedelta(hours=2))
    site = live.rendered(END + timedelta(hours=2))

    found = here("verify", "challenge", site)

    assert (found.code, failed(found)) == (4, [])
    assert "later   the site has the events of the archive, and no others: the archive ends with event 29" in found.out
    assert "recorded at 2027-01-31T13:00:00" in found.out
    assert "It ends with event 29; the events since then are not in it" in (site / "verification.html").read_text()
    # The other way round: an older copy of the site.
    shutil.copy(archived(live, tmp_path / "again.zip", END + timedelta(hours=3)), before / PLACE)
    found = here("verify", "challenge", before)
    assert (found.code, failed(found)) == (4, [])
    # What a newer log does not change is compared.
    shutil.copy(before / "lists" / "split.json", site / "lists" / "split.json")
    (site / "lists" / "split.json").write_text("{}")
    assert "lists/split.json" in failed(here("verify", "challenge", site))[0]


def test_a_board_that_nobody_derives_is_found(site: Path, tmp_path: Path) -> None:
    """Next to the files of the site."""
    copy = shutil.copytree(site, tmp_path / "copy")
    (copy / "grand").mkdir()
    shutil.copy(copy / "main" / "leaderboard.json", copy / "grand")

    (line,) = failed(here("verify", "challenge", copy))

    assert 'not in the archive: "grand/leaderboard.json"' in line


def test_an_archive_has_what_the_record_has(tmp_path: Path) -> None:
    """Without a track, with other rules or with other phases, no archive is written."""
    live = decided(tmp_path / "live")
    text = (live.folder / FILE).read_text()
    whole, _, lists = text.partition("[tracks.lists]")
    for changed, expected in (
        (whole, 'the record has the track "lists"'),
        (text.replace("list_length = 3", "list_length = 2"), "list_length of the files differ from the record"),
        (text.replace('title = "Main"', 'title = "Other"'), "title of the files differ from the record"),
    ):
        (live.folder / FILE).write_text(changed)
        with pytest.raises(ChallengeError, match=re.escape(expected)):
            archived(live, tmp_path / ARCHIVE)
    assert lists


def test_a_solution_behind_a_url_is_in_the_archive(tmp_path: Path) -> None:
    """So that the check needs no network."""
    live = decided(tmp_path / "live")
    with http(partial(Quiet, directory=live.folder / "solutions")) as address:
        live.edit('solution = "solutions/main.txt"', f'solution = "{address}/main.txt"')
        target = archived(live, tmp_path / ARCHIVE)

    assert 'solution = "outside/main/solution/main.txt"' in members(target)["challenge/challenge.toml"].decode()
    assert here("verify", "challenge", target).code == 0


def test_where_submissions_are_published_is_recorded(tmp_path: Path) -> None:
    """Only where they are not, so that the rules of others stay the same; the settings cannot say so afterwards."""
    hidden, public = (
        decided(tmp_path / name, entries=text) for name, text in (("a", "publish_submissions = false\n"), ("b", ""))
    )

    for live, wanted in ((hidden, False), (public, None)):
        with live.store() as store:
            recorded = store.read(lambda view: view.recorded_basis("main"))
            assert recorded is not None
            assert (recorded.settings or {}).get("publish_submissions") is wanted
    content = members(archived(public, tmp_path / ARCHIVE))
    settings = content["challenge/challenge.toml"].decode().replace("\n\n", "\npublish_submissions = false\n\n", 1)
    content = {name: data for name, data in content.items() if not name.startswith("submissions/")}
    content["challenge/challenge.toml"] = public_settings(settings, {}).encode()
    found = verified(content, tmp_path)
    assert found.code == 1
    about = "the board is based on the rules and the solution of the record: the archive has other"
    assert f'main: {about} "publish_submissions"' in failed(found)


def test_limits_that_reject_files_are_recorded(tmp_path: Path) -> None:
    """Otherwise whoever lowers one after the end rejects the winner, and the archive fits itself."""
    live = decided(tmp_path / "live")
    live.edit("[tracks.main]", "[limits]\nqueries = 1000\nseconds = 60\n\n[tracks.main]")
    with pytest.raises(ChallengeError, match="main: limits of the files differ from the record"):
        archived(live, tmp_path / ARCHIVE)
    live.run(END)

    found = here("verify", "challenge", archived(live, tmp_path / ARCHIVE))
    assert (found.code, failed(found)) == (3, [])
    assert "limits and publish_submissions are those of the start: changed, which needs no erratum, by the" in found.out
    with live.store() as store:
        recorded = store.read(lambda view: view.recorded_basis("main"))
    assert recorded is not None
    assert (recorded.settings or {})["limits"] == {"queries": 1000}


def test_an_archive_of_release_1_0_0_is_verified_with_a_note(tmp_path: Path) -> None:
    """Its heads do not cover kinds, and its statistics are those of 1.0.0: a note and an open part say so."""
    archive = Path(__file__).parent / "archive_1" / ARCHIVE
    note = "note    the heads of 29 events have version 1 and do not cover kinds"
    found = here("verify", "challenge", archive)

    assert (found.code, failed(found), problems(archive), note in found.out) == (3, [], [], True)
    assert "the statistics are not compared, because version 1.0.0 computed them in another way" in found.out
    content = members(archive)
    texts = [json.loads(line) for line in content["public/events.jsonl"].splitlines()]
    hidden = next(row for row in texts if json.loads(row["event"])["kind"] == "reveal")
    content["public/events.jsonl"] = table_text(row for row in texts if row != hidden).encode()
    lines = content["public/log.jsonl"].decode().splitlines(keepends=True)
    lines[hidden["index"] - 1] = lines[hidden["index"] - 1].replace('"reveal"', '"token"')
    content["public/log.jsonl"] = "".join(lines).encode()
    manifest = json.loads(content["manifest.json"])
    assert note in verified(content, tmp_path, "--head", manifest["head"]).out


def test_settings_that_take_the_parser_long_are_refused(site: Path, tmp_path: Path) -> None:
    """A key of thousands of parts would take minutes."""
    content = members(site / PLACE)
    content["challenge/challenge.toml"] += b".".join([b"a"] * 30_000) + b" = 1\n"

    found = verified(content, tmp_path)

    assert found.code == 1
    assert "challenge/challenge.toml has more than 200,000 characters, or 300 dots in a line" in found.out + found.err
