"""The challenge in which every rule is on: its users' journeys, by public means only, with the time injected."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
import subprocess
import tomllib
import uuid
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlencode

import pytest

from scorer.rules.tables import SettingsTable
from scorer.rules.teams import TeamSettings
from scorer.settings.loading import LimitSettings
from scorer.settings.published import PUBLIC_KEYS, PUBLIC_TRACK_KEYS
from scorer.settings.tracks import LISTS, Branding, Challenge
from tests import everything
from tests.browser import Page, chromium
from tests.bundles import members
from tests.commands import Answer, here
from tests.everything import LOOKS, TRACKS, Delivery, Season, Way
from tests.html_links import broken_links
from tests.live_challenges import day
from tests.paths import tree
from tests.second_verifier import Archive
from tests.service.test_submit_browser import choose, until

HIDDEN = [name for name, moment in LOOKS.items() if moment < day(30)]
"""Looks before the last phase closes."""


# Which rules are on

ABSENT = {
    "tracks.stage": "a challenge that is committed to has phases in every track",
    "overall.tasks": "it needs six tracks, and then says nothing about the queries that tracks share",
}
"""Keys that cannot join, with the reason."""


def declared(model: type[SettingsTable], path: str = "") -> Iterator[str]:
    """All keys of a table and of the tables in it."""
    tables = {"limits": LimitSettings, "site": Branding}
    for key in model.keys():  # noqa: SIM118 (a method of the class)
        annotation = model.model_fields[key].annotation
        inner = [kind for kind in (annotation, *get_args(annotation)) if isinstance(kind, type)]
        inner = [kind for kind in inner if issubclass(kind, SettingsTable)]
        yield f"{path}{key}"
        for table in [tables[key]] if key in tables and not path else inner:
            yield from declared(table, f"{path}{key}.")


def stated(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """All keys of a table of a file; those of the tables in a list, or of tracks, without their places."""
    for key, value in table.items():
        yield f"{path}{key}"
        tables = (
            list(value.values()) if (path, key) == ("", "tracks") else value if isinstance(value, list) else [value]
        )
        for each in tables:
            if isinstance(each, dict):
                yield from stated(each, f"{path}{key}.")


def test_every_key_is_on() -> None:
    """A rule that is added later has to join the challenge, or the list of those that cannot."""
    settings = everything.SETTINGS
    for old, new in everything.OVER:
        settings = settings.replace(old, new)
    found = set(stated(tomllib.loads(settings)))
    assert set(declared(Challenge)) - found == ABSENT.keys()
    teams = set().union(*tomllib.loads(everything.FILES["teams.toml"]).values())
    decided = {"merged_into": "teams merge", "disqualified": "teams disqualify"}
    lines = [" ".join(step.arguments) for step in everything.season() if isinstance(step, everything.Command)]
    assert set(TeamSettings.keys()) == teams | decided.keys()
    assert all(any(line.startswith(each) for line in lines) for each in decided.values())


@pytest.mark.ci
@pytest.mark.parametrize("look", ["announced", "revealed"])
def test_only_public_keys_are_published(artefacts: Path, look: str) -> None:
    """Every key of challenge.toml is set, so a new one is not public unless it is listed; nor is any of these words."""
    text = (artefacts / look / "site" / "challenge.toml").read_text(encoding="utf-8")
    published, own = tomllib.loads(text), tomllib.loads(everything.SETTINGS)
    assert set(published) == set(PUBLIC_KEYS)
    assert set().union(*published["tracks"].values()) == {*PUBLIC_TRACK_KEYS, "solution"}
    for track, table in published["tracks"].items():
        changed = {key: f"{track}/{LISTS[key]}" for key in LISTS if table.get(key, "self") != "self"}
        changed |= {"solution": "not-published"}
        assert table == {key: own["tracks"][track][key] for key in table} | changed
    assert not re.search("hidden|entries/|popular|2027|AoE|Department|rounded|CC BY|scores.db|example.org/", text)


# A season


@pytest.fixture(scope="module")
def artefacts(no_pictures: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that the challenge writes."""
    target = tmp_path_factory.mktemp("everything") / "written"
    everything.write_artefacts(target)
    return target


def printed(folder: Path) -> dict[str, str]:
    """What the last call of each command printed, with its exit code."""
    blocks = folder.joinpath("printed.txt").read_text(encoding="utf-8").split("\n$ ")
    return {line.removeprefix("$ "): rest.strip() for line, _, rest in (block.partition("\n") for block in blocks)}


@pytest.mark.ci
class TestOrganiser:
    """Has a command for each decision."""

    def test_nothing_is_damaged_at_any_time(self, artefacts: Path) -> None:
        """The record, what was derived, and the site."""
        checked = {look: printed(artefacts / look)["doctor"] for look in LOOKS}
        assert [look for look, text in checked.items() if not text.endswith("= 0")] == []

    def test_an_erratum_changes_what_its_preview_says(self, artefacts: Path) -> None:
        """Scores of visitors, final scores, and rules."""
        found = printed(artefacts / "freeze")
        preview, applied = (
            found[f"erratum {each}"].partition("\nruns: ")[0] for each in ("preview --track runs", APPLY)
        )
        assert preview == applied
        assert "quota: zone UTC, per_phase 5 before, zone UTC, per_phase 6 after" in preview

    def test_the_status_ends_with_the_commands_that_make_sense(self, artefacts: Path) -> None:
        """An open erratum, a phase that closes within a day, a bundle that is missing, and what is not revealed."""
        advised = {
            look: [line for line in printed(artefacts / look)["status"].splitlines() if line.startswith("next: ")]
            for look in LOOKS
        }
        for part, looks in {
            "`scorer erratum apply --track songs --reason TEXT`, or `cancel`: erratum 1": {"open erratum"},
            "`scorer run` after 2027-01-21 01:00:00 UTC, or `scorer phases extend one --track songs": {"freeze"},
            "`scorer run` after 2027-01-30 00:30:00 UTC, or `scorer phases extend two --track runs": {"second freeze"},
            "`scorer export FILE --solutions --files`: the last bundle is missing": LOOKS.keys() - {"announced"},
            "`scorer reveal`: the last phase has closed": {"over"},
            "`scorer commit`": set(),
        }.items():
            assert {look for look, lines in advised.items() if any(part in line for line in lines)} == looks, part

    def test_the_own_view_shows_what_the_end_shows(self, artefacts: Path) -> None:
        """While a track is frozen and names are hidden; each page is marked, and the folder is private."""
        own, over = artefacts / "second freeze" / "own", artefacts / "over" / "site"
        for track in TRACKS:
            now, end = (json.loads((site / track / "leaderboard.json").read_bytes()) for site in (own, over))
            names = ["team", "last entry", *(each for each in ("nDCG@5", "AP", "RR", "P@5") if each in end["columns"])]
            rows = [[[row[name] for name in names] for row in board["rows"]] for board in (now, end)]
            assert len([row for row in rows[0] if row in rows[1] and None not in row]) >= 4, rows
        assert own.stat().st_mode & 0o777 == 0o700
        pages = {path: path.read_text(encoding="utf-8").count('<p class="organisers"') for path in own.rglob("*.html")}
        assert set(pages.values()) == {1}
        assert not any(b'class="organisers"' in text for text in tree(artefacts / "second freeze" / "site").values())

    def test_a_bundle_makes_the_same_site(self, artefacts: Path) -> None:
        """Every byte, also with unjudged items dropped and with a database in another folder."""
        imported = {name: text for name, text in tree(artefacts / "end" / "imported").items() if name not in WRITTEN}
        assert imported == tree(artefacts / "revealed" / "site")

    def test_a_restored_backup_goes_on(self, artefacts: Path) -> None:
        """Its run is refused until then; the published log is the beginning of the new one."""
        folder = artefacts / "end" / "restored"
        found = printed(folder)
        assert re.match("the events [0-9]+ to [0-9]+ are lost; event [0-9]+ begins epoch 2; ", found["restore"])
        assert found["doctor"].endswith("= 0")
        before = (artefacts / "revealed" / "site" / "log.jsonl").read_text()
        assert (folder / "log.jsonl").read_text().startswith(before)
        assert here("verify", "log", folder / "log.jsonl").code == 0

    def test_a_paper_has_all_teams(self, artefacts: Path) -> None:
        """Also those that are not ranked, marked."""
        text = "".join(path.read_text() for path in sorted((artefacts / "end" / "paper").rglob("*.tex")))
        assert all(name in text for name in ("The Ambers", "popular", "elder", "Fern", "hazel"))


PREVIEW, APPLY = "preview --track runs", "apply --track runs --reason A grade was wrong."
WRITTEN = {"printed.txt", "answered.txt"}


@pytest.mark.ci
class TestStranger:
    """Has the archive, the site, and a head that the organisers published before."""

    def test_all_that_is_published_verifies(self, artefacts: Path) -> None:
        """The archive, the site, the bundle, the log, the commitment, the splits, and each receipt."""
        verified = {line: text for line, text in printed(artefacts / "end").items() if line.startswith("verify")}
        assert len(verified) > 30
        assert [line for line, text in verified.items() if not text.endswith("= 0")] == []

    def test_the_second_program_agrees_on_the_log(self, artefacts: Path) -> None:
        """From each head that was printed on the way; of the boards it does not know all rules."""
        for look in LOOKS:
            head = printed(artefacts / look)["heads"].split(" ")[0]
            Archive(artefacts / "end" / "archive.zip").check_log(head.rpartition(":")[2])


@pytest.mark.ci
class TestVisitor:
    """Opens all that is public, at every look."""

    def test_a_page_says_why_it_has_no_scores_of_queries(self, artefacts: Path) -> None:
        """They are public once the commitment is revealed."""
        found = [(artefacts / look / "site" / "teams" / "birch.html").read_text() for look in ("over", "revealed")]
        assert ["until the commitment is revealed" in text for text in found] == [True, False]
        assert not any("organisers do not show" in text for text in found)

    def test_all_links_lead_somewhere_and_all_documents_parse(self, artefacts: Path) -> None:
        """But for the state of the page that compares, which its script reads."""
        for site in (artefacts / look / "site" for look in LOOKS):
            assert [link for link in broken_links(site) if "compare.html#a=" not in link] == []
            for path in (each for each in site.rglob("*") if each.suffix in PARSERS):
                for part in path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]:
                    PARSERS[path.suffix](part)

    def test_the_feed_has_entries_and_ranks_as_far_as_boards_show_them(self, artefacts: Path) -> None:
        """Each keeps its id and its kind; a track has none while its board or its scores are hidden."""
        kinds: dict[str, str] = {}
        tracks = {}
        for look in LOOKS:
            found = news(artefacts / look / "site")
            kept = {each: kind for each, (kind, *_) in found.items()}
            assert {each: kinds.get(each, kind) for each, kind in kept.items()} == kept
            assert len(kept) <= 60 * len(TRACKS)
            kinds |= kept
            tracks[look] = {title.partition(":")[0] for *_, title in found.values()}
        every = {"Films", "Runs", "Songs & sounds"}
        shown = {"freeze": {"Films", "Runs"}, "closed": every, "over": every, "revealed": every}
        assert tracks == {look: shown.get(look, set()) for look in LOOKS}
        titles = {title for _, _, title in news(artefacts / "over" / "site").values()}
        assert "Songs & sounds: New entry of hazel: 0.7, took the lead" in titles
        assert "Songs & sounds: hazel now first, ivy now second and birch now third by final scores" in titles
        assert "Runs: ivy: other now third" in titles

    def test_before_the_end_nothing_public_depends_on_what_is_hidden(self, artefacts: Path, tmp_path: Path) -> None:
        """Grades of the final queries, names of teams and files, and metadata are other ones in a twin."""
        everything.write_artefacts(tmp_path / "twin", 1, whole=False)
        differ: dict[str, list[str]] = {}
        for look in LOOKS:
            ours, theirs = (public(folder / look) for folder in (artefacts, tmp_path / "twin"))
            differ[look] = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
        assert {look: differ[look] for look in HIDDEN} == {look: [] for look in HIDDEN}
        assert {f"site/{track}/leaderboard.json" for track in TRACKS} <= set(differ["over"])
        assert "paper/table-songs.tex" in differ["over"]


def news(site: Path) -> dict[str, tuple[str, str, str]]:
    """The kind, the time and the title of what a feed has of entries and ranks, by the id."""
    atom = "{http://www.w3.org/2005/Atom}"
    found = {}
    for entry in ET.parse(site / "feed.xml").getroot().findall(f"{atom}entry"):
        (category,) = entry.findall(f"{atom}category")
        of_entry = [entry.findtext(f"{atom}{name}", "") for name in ("id", "updated", "title")]
        if (kind := category.attrib["term"]) in ("entry", "lead", "rank"):
            found[of_entry[0]] = kind, of_entry[1], of_entry[2]
    return found


PARSERS: Mapping[str, Callable[[bytes], object]] = {
    ".json": json.loads,
    ".jsonl": json.loads,
    ".xml": ET.fromstring,
    ".svg": ET.fromstring,
    ".toml": lambda content: tomllib.loads(content.decode()),
}

HASHES = re.compile(rb"[0-9a-f]{64}|(?<=>#)[0-9]+ [0-9a-f]{12}")
"""Digests with a secret, and the beginnings of those that pages show."""


def public(folder: Path) -> dict[str, bytes]:
    """All bytes of a site and of what a paper needs, also those in archives, but for hashes."""
    found: dict[str, bytes] = {}
    for name, content in tree(folder).items():
        if name.startswith(("site/", "paper/")) and not name.endswith(".manifest.json"):
            parts = members(folder / name) if name.endswith(".zip") else {"": content}
            found |= {f"{name}{part}": HASHES.sub(b"", text) for part, text in parts.items()}
    return found


def shown(site: Path) -> dict[str, bytes]:
    """All bytes of a site but for hashes."""
    return {name: HASHES.sub(b"", content) for name, content in tree(site).items() if name != ".manifest.json"}


# The same deliveries by each way

FILE_NAME = re.compile(rb'<td class="source"><span><bdi>[^<]*')
"""On the page of a team: names of files depend on the way."""

UNTIL = day(24)


def by_way(folder: Path, way: Way) -> dict[str, bytes]:
    """The bytes of a site between the phases and at the end, where all files are handed in by a way."""
    chosen = [each for each in everything.season() if isinstance(each, Delivery) and each.name in GOOD]
    steps: list[everything.Step] = [everything.command(day(3), line) for line in ("commit", "run --executor serial")]
    for number, each in enumerate(chosen):  # one at a time, so that all are recorded in the same order
        at = each.at + timedelta(minutes=number)
        steps += [replace(each, way=way, at=at), everything.command(at, "score --executor serial")]
    steps += [everything.command(at, "run --executor serial") for at in (UNTIL, everything.END)]
    found: dict[str, bytes] = {}
    live = Season(folder / "live", steps=sorted(steps, key=lambda step: step.at))
    with everything.injected(lambda: live.now), live.serving():
        live.play(day(4))
        for team in sorted({each.team for each in chosen}):
            live.token(team)
        for moment in (UNTIL, everything.END):
            live.play(moment)
            found |= {f"{moment} {name}": FILE_NAME.sub(b"", text) for name, text in shown(live.site).items()}
    return found


GOOD = ("first", "second", "net", "wide", "deep", "one", "copy", "whole", "between", "better", "worse", "fourth", "two")
"""Files that each way accepts."""


@pytest.mark.ci
def test_the_same_files_by_each_way_give_the_same_bytes(tmp_path: Path) -> None:
    """Over HTTP, from a shell, by a mailbox, and in the folder of submissions."""
    ways: dict[Way, dict[str, bytes]] = {way: by_way(tmp_path / way, way) for way in get_args(Way)}
    first = ways["service"]
    assert all(len(json.loads(first[f"{everything.END} {track}/leaderboard.json"])["rows"]) >= 3 for track in TRACKS)
    for way, found in ways.items():
        assert [name for name in first.keys() | found.keys() if first.get(name) != found.get(name)] == [], way


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Season]:
    """The challenge in its first phase, served."""
    live = Season(tmp_path_factory.mktemp("open") / "live")
    with everything.injected(lambda: live.now), live.serving():
        live.play(day(12))
        live.run("run", "--executor", "serial")
        yield live


class TestParticipant:
    """Knows the address of the site and has an invitation."""

    def test_in_a_shell(self, live: Season, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The commands on the page of the board, as they are: check, hand in, pick, verify the receipt."""
        assert live.server is not None
        address = f"{live.server.address}/"
        page = live.server.request("GET", "/songs/index.html")[1].decode()
        lines = re.findall('<code tabindex="0">scorer (.+?)</code>', page)
        check, submit, pick, verify = (shlex.split(html.unescape(line)) for line in lines)
        monkeypatch.chdir(tmp_path)
        Path("my-run.txt").write_text(Delivery(live.now, "songs", "juniper", "mine", kind="").text)
        for name in ("receipts.pem", "log.jsonl", "kit.zip"):
            Path(name).write_bytes(live.server.request("GET", f"/{name}")[1])
        zipfile.ZipFile("kit.zip").extractall("kit")
        monkeypatch.setenv("SCORER_TOKEN", live.token("juniper"))
        known = {"https://lists.example.org/everything/": address, "kind=KIND": "kind=manual"}

        assert "kind: is missing" in here(*(known.get(word, word) for word in check[:-2])).err
        for words in (check, ["kit" if word in known and "//" in word else word for word in check]):
            answer = here(*(known.get(word, word) for word in words))
            assert answer.code == 0, answer.err
        answer = here(*(known.get(word, word) for word in submit if word != "--wait"))
        assert answer.code == 0, answer.err
        live.run("run", "--executor", "serial")
        (number,) = live.entries("songs", "juniper").values()
        Path("log.jsonl").write_bytes(live.server.request("GET", "/log.jsonl")[1])
        known |= {"4": str(number), "7-my-run.receipt.txt": f"{number}-my-run.receipt.txt"}
        assert here(*(known.get(word, word) for word in pick)) == Answer(0, f"songs: picks {number}\n", "")
        assert here(*(known.get(word, word) for word in verify), "--file", "my-run.txt").code == 0

    @pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
    def test_with_curl(self, live: Season, tmp_path: Path) -> None:
        """Metadata in the address; the score of a hidden board, and the own pseudonym."""
        assert live.server is not None
        delivery = Delivery(live.now, "films", "larch", "mine", 0.7)
        (tmp_path / "mine.txt").write_text(delivery.text)
        address = f"{live.server.address}/api/v1/tracks/films/entries"
        headers = ("--header", f"Authorization: Bearer {live.token('larch')}")
        stated = urlencode({"name": "mine.txt", "metadata": delivery.metadata})
        call = ["curl", "--silent", "--noproxy", "*", *headers]
        target = f"{address}/{uuid.UUID(int=1 << 64, version=4)}?{stated}"
        sent = subprocess.run([*call, "--upload-file", tmp_path / "mine.txt", target], capture_output=True, check=True)
        assert json.loads(sent.stdout)["state"] == "received", sent.stdout
        live.run("score", "--executor", "serial")
        (entry,) = json.loads(subprocess.run([*call, address], capture_output=True, check=True).stdout)["entries"]
        assert (entry["state"], entry["metadata"]["kind"]) == ("scored", "automatic")
        assert re.fullmatch("team [0-9a-f]{6}", entry["shown_as"])
        assert b"larch" not in b"".join(tree(live.site).values())

    @pytest.mark.browser
    @pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")
    @pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
    def test_in_a_browser(self, live: Season, only_tab: Page, tmp_path: Path, scripts: bool) -> None:
        """From an invitation to an entry with its required metadata, its score, and its receipt."""
        assert live.server is not None
        team, file = ("maple" if scripts else "nettle"), tmp_path / "mine.txt"
        file.write_text(Delivery(live.now, "songs", team, "mine", 0.7, kind="").text)
        code = live.run("teams", "invite", team, "--server", live.server.address).out.strip()
        tab = only_tab
        tab.send("Storage.clearCookies")
        tab.open(code, scripts=scripts)
        if not scripts:
            tab.ask(f"document.getElementById('key').value = '{code.rpartition('#')[2]}'")
        until(tab, "document.getElementById('key').value.length > 9")
        tab.ask("document.querySelector('button').click()")
        until(tab, f"document.body.innerText.includes('{team}')")
        tab.open(f"{live.server.address}/submit?track=songs", scripts=scripts)
        choose(tab, file)
        if not scripts:
            tab.ask("document.querySelector('form.check button').click()")
        until(tab, "document.querySelector('.hand-in button') !== null")
        tab.ask("""document.querySelector('[name="meta.kind"]').value = 'manual'""")
        tab.ask("""document.querySelector('[name="meta.approach"]').value = 'some words '.repeat(20)""")
        tab.ask("document.querySelector('.hand-in button').click()")
        until(tab, "document.querySelectorAll('#entries tbody tr').length === 1")
        live.run("score", "--executor", "serial")
        tab.open(f"{live.server.address}/submit?track=songs", scripts=scripts)
        until(tab, "document.querySelector('#entries .score') !== null")
        (entry,) = json.loads(live.request("GET", "songs", team, "/entries")[1])["entries"]
        number = entry["index"]
        assert entry["metadata"] == {"kind": "manual", "approach": " ".join(["some words"] * 20)}
        shown = tab.ask("document.querySelector('#entries tbody .score').innerText")
        assert shown == f"{entry['scores']['preliminary']['nDCG@5']:.1f}"  # its decimals depend on the queries
        assert tab.ask("document.querySelector('nav [aria-current]').innerText") == "Hand in"
        for width in (1440, 390):
            tab.resize(width)
            assert tab.ask("document.documentElement.scrollWidth") <= width
        receipt = live.run("receipt", str(number), record=False).out
        public = ("--key", live.site / "receipts.pem", "--file", file)
        (tmp_path / "receipt.txt").write_text(receipt)
        assert here("verify", "receipt", tmp_path / "receipt.txt", *public).code == 0
        assert tab.errors == []
