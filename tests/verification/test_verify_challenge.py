"""The public archive of a challenge, from which `scorer verify challenge` derives its boards."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from scorer.errors import ChallengeError
from scorer.organising.public import ARCHIVE, PLACE
from scorer.store.log import Purpose
from scorer.store.snapshot import Snapshot
from tests.bundles import archive as sealed
from tests.bundles import lines_of, members, with_manifest
from tests.commands import failed, here
from tests.committed import whole
from tests.public_archives import END, archived, decided
from tests.second_verifier import problems
from tests.verification.test_published import Quiet, http

BOARDS = ("main/leaderboard.json", "main/leaderboard.csv", "lists/leaderboard.json", "lists/leaderboard.csv")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a challenge that is over, with its archive."""
    folder = tmp_path_factory.mktemp("over")
    live = decided(folder / "live")
    static = live.folder / "templates" / "static"
    static.mkdir(parents=True)
    archived(live, static / ARCHIVE)
    return live.rendered(END)


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
    first, second = (decided(tmp_path / name, secret) for name, secret in (("a", "one-secret"), ("b", "two-secrets")))
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
    tokens = [event.body["sha256"] for event in view.all_events if event.kind == "token"]
    assert tokens
    return [*(view.secret(purpose).hex() for purpose in purposes), *tokens]


def test_without_submissions_the_boards_follow_from_their_judged_items(tmp_path: Path) -> None:
    """No byte of a submission is in the archive; both programs find a result that was changed."""
    live = decided(tmp_path / "live", entries="publish_submissions = false\n")
    archive = archived(live, tmp_path / ARCHIVE)
    content = members(archive)
    found = here("verify", "challenge", archive)

    assert (found.code, failed(found), problems(archive)) == (0, [], [])
    assert "note    nothing binds the results of 8 submissions to their bytes" in found.out
    assert "The submissions do not become public." in (live.folder / "site" / "main" / "rules.html").read_text()
    assert not [name for name in content if name.startswith("submissions/")]
    rows = [json.loads(line) for line in content["tables/result.jsonl"].splitlines()]
    (one, two, *_) = [row for row in rows if row["hits"] and row["solution_digest"] == rows[-1]["solution_digest"]]
    one["hits"], two["hits"] = two["hits"], one["hits"]
    content["tables/result.jsonl"] = lines_of(rows)
    manifest = json.loads(content["manifest.json"])
    archive.write_bytes(sealed(with_manifest(content, events=manifest["events"], head=manifest["head"])))
    assert "leaderboard.json: the derived board" in failed(here("verify", "challenge", archive))[0]
    assert problems(archive)


def test_an_overall_ranking_follows_from_the_archive(tmp_path: Path) -> None:
    """Its JSON and its CSV."""
    live = decided(tmp_path / "live", table='[overall]\ntracks = ["main", "lists"]\n')
    found = here("verify", "challenge", archived(live, tmp_path / ARCHIVE))

    assert (found.code, failed(found)) == (0, [])
    for name in ("json", "csv"):
        assert f"ok      overall/leaderboard.{name}: the derived board is the published one, byte for byte" in found.out


def test_boards_of_another_version_are_compared_in_their_values(site: Path, tmp_path: Path) -> None:
    """Not in other keys and columns; a score that differs or is missing is found, and so is a missing row."""
    content = members(site / PLACE)
    name = "public/main/leaderboard.json"
    manifest = json.loads(content["manifest.json"])
    board = json.loads(content[name])
    board["columns"].remove("tier")
    score = board["columns"][3]
    changes = [{}, {"rows": board["rows"][1:]}, {"rows": []}, {"columns": ["rank", "team", "baseline"]}]
    changes.append({"rows": [{**row, score: 0.25} for row in board["rows"]]})
    for change in changes:
        text = json.dumps(board | change)
        content[name] = text.encode()
        changed = with_manifest(content, events=manifest["events"], head=manifest["head"], scorer="0.1.7")
        archive = tmp_path / ARCHIVE
        archive.write_bytes(sealed(changed))
        lines = here("verify", "challenge", archive).out.splitlines()
        (line,) = [line for line in lines if "main/leaderboard.json" in line]
        assert "scorer 0.1.7 wrote it" in line
        assert line.startswith("ok") == (not change), line


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
