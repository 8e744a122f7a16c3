"""Metadata of submissions: what teams state, in which ways, and who sees it when."""

from __future__ import annotations

import asyncio
import csv
import gzip
import hashlib
import io
import json
import random
import re
import time
import tomllib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from scorer.board.charts.over_time import Spent, front
from scorer.board.reports.leaderboard import entries_json, entries_table, schema, to_csv, to_json
from scorer.cli.participate import Client
from scorer.errors import ChallengeError
from scorer.limits import Limits
from scorer.lists.detection import why_unreadable
from scorer.organising.picks import amend_metadata
from scorer.organising.render import listed_entries
from scorer.rules.metadata import MetadataField
from scorer.service import uploads
from scorer.service.accepting import collect
from scorer.service.documents import Checks
from scorer.settings.loading import read_challenge
from scorer.settings.metadata import MOST_BYTES, MetadataError, checked, head_of_run, of_head, read
from scorer.wording import csv_table
from tests.accessibility import has_axe, violations
from tests.board.test_board_page import NAMES, chosen
from tests.browser import IN_BROWSER, Page
from tests.commands import here
from tests.live_challenges import END, GOOD, ONE, SECOND_END, START, TWO, Live, day, lists
from tests.served import Served, checked_at_once, served
from tests.service.test_submit_page import Visitor

FIELDS = """
[[metadata]]
name = "system"
title = "System"
required = true

[[metadata]]
name = "kind"
title = "Kind of run"
type = "choice"
choices = ["Automatic", "Manual"]
ir_metadata = "method.kind"

[[metadata]]
name = "seconds"
title = "Time"
type = "number"
unit = "s"
public = "end"

[[metadata]]
name = "llm"
title = "Uses a language model"
type = "yes-no"
public = "never"

[[metadata]]
name = "paper"
title = "Paper"
type = "url"
"""

ALL = 'system: "Ünïcode & <b>"\nkind: manual\nseconds: 1.5\nllm: true\npaper: https://example.org/a?b=1&c=2\n'
VALUES = {
    "system": "Ünïcode & <b>",
    "kind": "Manual",
    "seconds": 1.5,
    "llm": True,
    "paper": "https://example.org/a?b=1&c=2",
}
HEAD = """# ir_metadata.start
# system: BM25
# method:
#   kind: automatic
#   retrieval:
#     - x
# ir_metadata.end
"""
RUN = "".join(f"q{number} Q0 a 1 1.0 tag\n" for number in range(10))


def declared(folder: Path) -> Live:
    """A live challenge that requests metadata, announced."""
    live = Live.of(folder, ONE, TWO)
    toml = live.folder / "challenge.toml"
    toml.write_text(toml.read_text() + FIELDS)
    live.run(live.now)
    return live


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A live challenge that requests metadata."""
    return declared(tmp_path / "live")


def fields(text: str = FIELDS) -> tuple[MetadataField, ...]:
    """The fields of tables in challenge.toml."""
    return tuple(MetadataField(**table) for table in tomllib.loads(text)["metadata"])


class TestFields:
    """The tables [[metadata]]."""

    @pytest.mark.parametrize(
        ("table", "error"),
        [
            ('name = "A"\ntitle = "A"', 'metadata[0].name: found "A", which is not such a name'),
            ('name = "a"', "metadata[0].title: is missing"),
            ('name = "a"\ntitle = "A"\ntype = "choice"', "metadata[0].choices: found [], which is empty"),
            ('name = "a"\ntitle = "A"\nchoices = ["x"]', "which has no effect"),
            ('name = "a"\ntitle = "A"\ntype = "choice"\nchoices = ["x", "X"]', "which names a choice twice"),
            ('name = "a"\ntitle = "A"\nunit = "s"', 'metadata[0].unit: found "s", which has no effect'),
            ('name = "a"\ntitle = "A"\ntype = "date"', '"text", "choice", "number", "yes-no" or "url"'),
            ('name = "a"\ntitle = "A"\npublic = "later"', '"now", "end" or "never"'),
            ('name = "a"\ntitle = "A"\nunits = "s"', "metadata[0].units: unknown key (did you mean unit?)"),
            ('name = "a"\ntitle = "A"\n[[metadata]]\nname = "a"\ntitle = "B"', "which has two fields of one name"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path: Path, table: str, error: str) -> None:
        live = Live.of(tmp_path / "live")
        toml = live.folder / "challenge.toml"
        toml.write_text(f"{toml.read_text()}\n[[metadata]]\n{table}\n")
        with pytest.raises(ChallengeError) as raised:
            read_challenge(live.folder)
        assert error in str(raised.value)

    def test_they_hold_for_all_tracks_and_are_no_setting_of_scores(self, live: Live) -> None:
        assert live.track.metadata == fields()
        assert not any("metadata" in basis.values["settings"] for basis in live.events("basis"))


class TestReading:
    """Files of metadata, which anybody may write."""

    def test_values_have_their_types(self) -> None:
        assert checked(fields(), read(ALL.encode())) == VALUES
        assert checked(fields(), read(json.dumps(VALUES).encode())) == VALUES

    def test_only_the_paths_of_ir_metadata_that_fields_name_are_read(self) -> None:
        head = head_of_run((HEAD + RUN).encode())
        assert checked(fields(), read(head)) == {"system": "BM25", "kind": "Automatic"}
        assert head_of_run(RUN.encode()) == head_of_run(b"# ir_metadata.start\n# a: 1\nq0 Q0 a 1 1 t\n") == b""

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("seconds: 2", "system: is missing; expected a text"),
            ("system: a\nseconds: fast", 'line 2: seconds: found "fast"; allowed: a number in s'),
            ("system: a\nseconds: [1, 2]", "line 2: seconds: found a list"),
            ("system: a\nseconds: .inf", "allowed: a number"),
            ("system: a\nseconds: 1e300", "allowed: a number"),
            ("system: a\n\nkind: auto", 'line 3: kind: found "auto"; allowed: one of Automatic, Manual'),
            ("system: a\nllm: maybe", "allowed: yes or no"),
            ("system: a\npaper: javascript:alert(1)", "line 2: paper: found"),
            ("system: a\nSystem: b", 'line 2: "System": unknown'),
            ("system: a\nsecond: 1", "did you mean"),
            ("system: a\u202eb", "a character that does not show"),
            (f"system: {'x' * 1001}", "has 1,001 characters"),
            ("system: &a b\nkind: *a", "have an alias"),
            ("system: a\nkind: Manual\nsystem: b", 'line 3: "system" is also in line 1'),
            ("system: [", "line 1: the metadata are no YAML"),
            ("- system", "found a sequence"),
            ("system: {a: " + "[" * 60, "line 1: the metadata have more than 1,000 keys and values, or 8 levels"),
            ("system: {a: " + "[" * 100, "more than 100 brackets"),
            (f"system: '{'[' * 101}'", "more than 100 brackets"),
            (f"system: a\n? {'- ' * 8000}", "line 2: the metadata have more than 1,000 keys and values, or 8 levels"),
            ("\n".join(f"a.{number}: b" for number in range(600)), "line 500: the metadata have more than 1,000"),
            ("x" * (MOST_BYTES + 1), "more than 16,384 bytes"),
            ("system: \x00", "the metadata are no YAML"),
        ],
    )
    def test_what_is_wrong_has_its_line(self, text: str, error: str) -> None:
        with pytest.raises(MetadataError) as raised:
            checked(fields(), read(text.encode()))
        assert error in str(raised.value)
        assert str(raised.value).isprintable()

    @pytest.mark.parametrize("opening", ["", "[" * 7, "[" * 99, "{a: " * 7, "- " * 7, "? " * 7, "a: &a [*a, "])
    @pytest.mark.parametrize(
        "unit",
        ["[", "]", "{", ",", '"",', "a, ", "a: ", "? ", "- ", "&a ", "!t ", "|\n", "\n", "\x85", "a:\n ", "#"],
    )
    def test_no_document_takes_long(self, opening: str, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """For each token, the parser looks at all keys that are possible; these looks are bounded."""
        looks = 0

        def stale(scanner: yaml.SafeLoader) -> None:
            nonlocal looks
            looks += 1 + len(scanner.possible_simple_keys)
            original(scanner)

        original = yaml.SafeLoader.stale_possible_simple_keys
        monkeypatch.setattr(yaml.SafeLoader, "stale_possible_simple_keys", stale)
        with suppress(MetadataError):
            read((opening + unit * MOST_BYTES).encode()[:MOST_BYTES])
        assert looks < 250_000

    def test_few_errors_are_named(self) -> None:
        with pytest.raises(MetadataError) as raised:
            checked(fields(), read("\n".join(f"a{number}: b" for number in range(400)).encode()))
        assert len(str(raised.value).splitlines()) == 21

    def test_only_the_beginning_of_a_compressed_file_is_expanded(self, tmp_path: Path) -> None:
        """Text that comes after a megabyte of empty members of gzip, which a process would unpack for minutes."""
        run = tmp_path / "run.gz"
        run.write_bytes(gzip.compress((HEAD + RUN).encode()))
        assert of_head(run, Limits())["system"].text == "BM25"
        run.write_bytes(gzip.compress(gzip.compress(b"") * 50_000 + run.read_bytes()))
        assert of_head(run, Limits()) == {}
        assert why_unreadable(run, None, Limits()) == ""
        run.write_bytes(gzip.compress(gzip.compress(b"") * 50_000))
        assert why_unreadable(run, None, Limits()) == ""

    def test_a_tag_has_no_effect(self) -> None:
        assert checked(fields(), read(b"system: !!python/name:os.system x")) == {"system": "x"}

    def test_a_character_in_two_escapes_is_one(self) -> None:
        assert checked(fields(), read(rb'{"system": "\ud83d\ude00"}')) == {"system": "\U0001f600"}


class TestFolder:
    """Files next to submissions."""

    def test_a_file_without_valid_metadata_does_not_arrive(self, live: Live) -> None:
        live.put("amber/1.txt", lists(5, 5), START)
        live.put("blue/1.txt", lists(4, 5), START)
        live.put("blue/1.txt.meta.yaml", "system: a\nseconds: fast\n", START)
        work = live.run(START)
        assert [event.values["team"] for event in live.events("arrival")] == []
        told = sorted(map(str, work.scanned.skipped))
        assert "amber/1.txt: the metadata are invalid: system: is missing; expected a text; skipped" in told[0]
        assert 'blue/1.txt: the metadata are invalid: line 2: seconds: found "fast"' in " ".join(told)
        assert "main/blue/1.txt.meta.yaml: the metadata of a submission" in told

    def test_its_own_file_comes_before_that_of_the_folder_and_before_the_head(self, live: Live) -> None:
        live.put("amber/1.run", HEAD + RUN, START)
        live.put("amber/2.run", HEAD + RUN + " \n", START)
        live.put("amber/ir-metadata.yml", "seconds: 7\nmethod: {kind: manual}\n", START)
        live.put("amber/2.run.meta.json", '{"system": "mine"}', START)
        live.run(START)
        stated = {event.values["file"]: event.values["values"] for event in live.events("metadata")}
        assert stated == {
            "main/amber/1.run": {"system": "BM25", "kind": "Manual", "seconds": 7},
            "main/amber/2.run": {"system": "mine", "kind": "Manual", "seconds": 7},
        }
        assert live.states() == {"amber/1.run": "scored", "amber/2.run": "scored"}

    def test_a_correction_is_a_new_version_until_the_phase_closes(self, live: Live) -> None:
        live.put("amber/1.txt", lists(5, 5), START)
        live.put("amber/1.txt.meta.yaml", "system: a\n", START)
        live.run(START)
        live.run(START + timedelta(hours=1))
        live.put("amber/1.txt.meta.yaml", "system: b\nllm: no\n", START)
        live.run(START + timedelta(hours=2))
        live.put("amber/1.txt.meta.yaml", "system: [\n", START)
        work = live.run(START + timedelta(hours=3))
        assert "the earlier ones stay" in " ".join(work.warnings)
        live.put("amber/1.txt.meta.yaml", "system: c\n", START)
        live.run(END)
        assert [event.values["values"] for event in live.events("metadata")] == [
            {"system": "a"},
            {"system": "b", "llm": False},
        ]
        live.do(
            END, lambda challenge, store: amend_metadata(challenge, store, "main/amber/1.txt", ["seconds=3"], "asked")
        )
        assert live.events("metadata")[-1].values["values"] == {"system": "b", "llm": False, "seconds": 3}
        assert live.events("metadata")[-1].values["reason"] == "asked"


def handed_in(live: Live) -> None:
    """Two entries of two teams."""
    live.put("amber/1.txt", lists(5, 5), START)
    live.put("amber/1.txt.meta.yaml", ALL, START)
    live.put("blue/1.txt", lists(4, 5), START)
    live.put("blue/1.txt.meta.yaml", "system: =cmd()\n", START)


class TestPublic:
    """Who sees what."""

    def test_values_appear_on_pages_and_in_exports_from_their_moment(self, live: Live) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        handed_in(live)
        for now, shown in ((START, ["system", "kind", "paper"]), (SECOND_END, ["system", "kind", "seconds", "paper"])):
            site = live.run_and_render(now)
            board = live.board(now)
            document = json.loads(to_json(board))
            jsonschema.validate(document, json.loads(schema()))
            columns = [f"metadata {name}" for name in shown]
            assert document["columns"][-len(shown) :] == columns
            row = next(row for row in document["rows"] if row["team"] == "amber")
            assert {name: row[f"metadata {name}"] for name in shown} == {name: VALUES[name] for name in shown}
            rows = list(csv.DictReader(io.StringIO(to_csv(board))))
            assert rows[0]["metadata system"] == VALUES["system"]
            assert rows[1]["metadata system"].lstrip("'") == "=cmd()"
            assert rows[1]["metadata system"] != "=cmd()"
            page = site["teams/amber.html"]
            assert "<bdi>Ünïcode &amp; &lt;b&gt;</bdi>" in page
            assert 'href="https://example.org/a?b=1&amp;c=2" rel="nofollow' in page
            assert ("1.5 s" in page) == ("seconds" in shown)
            assert "Uses a language model" not in page
        rules = site["main/rules.html"]
        assert "Time (seconds): a number in s, optional; public at the end." in rules
        assert "only the organisers see it" in rules
        assert "; public at once; method.kind in ir-metadata." in rules

    def test_organisers_see_all_values(self, live: Live) -> None:
        handed_in(live)
        live.run(START)
        with live.store(START) as store:
            document = json.loads(entries_json(store.read(lambda view: listed_entries(view, [live.track]))))
        assert document["entries"][0]["metadata"] == VALUES

    def test_corrections_are_shown_as_far_as_values_are_public(self, live: Live) -> None:
        """With the value before; of a hidden field only from its moment on, as the organisers' table has all."""
        handed_in(live)
        live.run(START)
        live.put("amber/1.txt.meta.yaml", ALL.replace("1.5", "2.5").replace("paper:", "paper: https://a.org/ #"), START)
        site = live.run_and_render(START + timedelta(hours=2))
        assert "Paper until <time" in site["teams/amber.html"]
        assert "Time until" not in site["teams/amber.html"]
        site = live.run_and_render(SECOND_END)
        assert "<dd>1.5 s</dd>" in site["teams/amber.html"]
        assert "Uses a language model" not in site["teams/amber.html"]
        with live.store(START) as store:
            table = csv_table(entries_table(store.read(lambda view: listed_entries(view, [live.track]))))
        assert next(csv.DictReader(io.StringIO(table)))["metadata seconds"] == "2.5"

    def test_a_check_reads_metadata_as_handing_in_does(self, live: Live) -> None:
        """From --meta and from the head of the run; also with the public settings of the site."""
        live.run_and_render(START)
        run = live.folder / "mine.run"
        run.write_text(RUN)
        for where in (live.folder, live.folder / "site"):
            refused = here("check", run, "--track", "main", "--challenge", where, "--meta", "seconds=fast")
            assert refused.code == 1
            assert 'metadata: line 1: seconds: found "fast"; allowed: a number in s' in refused.err
            assert "metadata: system: is missing" in refused.err
            assert here("check", run, "--track", "main", "--challenge", where, "--meta", "system=a").code == 0
        run.write_text(HEAD + RUN)
        check = ("check", run, "--track", "main", "--challenge", live.folder)
        assert here(*check).code == 0
        (live.folder / "ir-metadata.yml").write_text("seconds: slow\n")
        assert 'metadata: line 1: seconds: found "slow"' in here(*check).err
        (live.folder / "mine.run.meta.yaml").write_text("llm: yes\nseconds: 2\n")
        assert here(*check).code == 0
        assert 'line 1: seconds: found "fast"' in here(*check, "--meta", "seconds=fast").err

    def test_what_was_promised_stays_hidden(self, live: Live) -> None:
        handed_in(live)
        live.run(START)
        live.edit('public = "never"', 'public = "now"')
        assert "Uses a language model" not in live.run_and_render(START)["teams/amber.html"]
        assert '"metadata llm": null' in to_json(live.board(START))

    def test_a_challenge_without_metadata_shows_nothing_of_it(self, tmp_path: Path) -> None:
        live = Live.of(tmp_path / "live", ONE)
        live.put("amber/1.txt", lists(5, 5), START)
        site = live.run_and_render(START)
        pages = {name: text for name, text in site.items() if name.endswith((".html", ".json", ".csv"))}
        assert [name for name, text in pages.items() if "etadata" in text and "schema" not in name] == []


class TestBoard:
    """The columns and filters of a board, in a browser."""

    pytestmark = IN_BROWSER

    def test_a_board_is_filtered_and_sorted_by_them(self, live: Live, tab: Page) -> None:
        stated = {"amber": ("manual", 1500), "blue": ("automatic", 20.25), "coral": ("automatic", 333), "delta": None}
        for number, (team, values) in enumerate(stated.items()):
            live.put(f"{team}/1.txt", lists(5 - number, 5), START)
            more = f"kind: {values[0]}\nseconds: {values[1]}\n" if values else ""
            live.put(f"{team}/1.txt.meta.yaml", f"system: {team} <i>\n{more}", START)
        live.run_and_render(SECOND_END)
        board = f"{(live.folder / 'site' / 'main' / 'index.html').as_uri()}"
        tab.open(f"{board}#stated-kind=Automatic&columns=stated-kind")
        assert tab.ask(NAMES) == ["blue", "coral"]
        assert tab.ask("document.querySelector('td.stated:not([hidden])').textContent") == "amber <i>"
        assert tab.ask("getComputedStyle(document.querySelector('th[data-key=stated-kind]')).display") != "none"
        assert tab.ask("getComputedStyle(document.querySelector('th[data-key=stated-system]')).display") == "none"
        if has_axe():
            assert violations(tab) == []
        tab.ask(chosen("select[name=stated-kind]", "Manual"))
        assert tab.ask(NAMES) == ["amber"]
        assert "stated-kind=Manual" in tab.ask("location.hash")
        tab.open(f"{board}#sort=stated-seconds")
        assert tab.ask(NAMES) == ["amber", "coral", "blue", "delta"]
        tab.open(f"{(live.folder / 'site' / 'teams' / 'amber.html').as_uri()}", width=390)
        assert tab.ask("document.documentElement.scrollWidth") == 390


def test_the_front_has_the_teams_that_no_other_one_beats() -> None:
    """By a comparison of all pairs, also of teams that are equal."""
    chance = random.Random(0)
    for _ in range(300):
        values = [(float(chance.randrange(5)), chance.randrange(5) / 4) for _ in range(chance.randrange(1, 9))]
        teams = [Spent(str(number), amount, score, score, score) for number, (amount, score) in enumerate(values)]
        kept = {
            team.name
            for team in teams
            if not any(
                other.amount <= team.amount
                and other.score >= team.score
                and (other.amount, other.score) != (team.amount, team.score)
                for other in teams
            )
        }
        found = front(teams)
        assert {team.name for team in found} == kept
        assert [team.amount for team in found] == sorted(team.amount for team in found)


@pytest.mark.parametrize(("amounts", "powers"), [((1, 2, 4), False), ((1, 20, 4000), True), ((-5, 0, 1000), False)])
def test_the_analysis_has_scores_against_numbers(live: Live, amounts: Sequence[int], powers: bool) -> None:
    """A dot and an interval for each team, only when the number is public."""
    for number, (team, amount) in enumerate(zip(("amber", "blue", "coral"), amounts, strict=True)):
        live.put(f"{team}/1.txt", lists(2 + number, 2), START)
        live.put(f"{team}/1.txt.meta.yaml", f"system: x\nseconds: {amount}\n", START)
    live.put("delta/1.txt", lists(1, 0), START)
    live.put("delta/1.txt.meta.yaml", "system: x\n", START)
    caption = "P against Time (s), with 95 % intervals."
    assert caption not in "".join(text for name, text in live.run_and_render(START).items() if "analysis" in name)
    site = live.run_and_render(SECOND_END)
    (page,) = (text for name, text in site.items() if "analysis" in name and caption in text)
    assert "scores higher for less; 1 team states nothing." in page
    chart = re.search(r"<svg[^>]*><title>P@1 against Time \(s\)</title>.*?</svg>", page)
    assert chart is not None
    assert "from the least to the most: amber, blue, coral." in chart[0]
    assert chart[0].count("<circle") == 3
    assert (">1,000<" in chart[0]) == powers


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The challenge of `Live.graded` with metadata, in its first phase."""
    monkeypatch.setattr(Checks, "of", checked_at_once)
    live = Live.graded(tmp_path / "live")
    toml = live.folder / "challenge.toml"
    toml.write_text(toml.read_text() + FIELDS)
    with served(live) as found:
        yield found


def _is_in_loop() -> bool:
    """Whether this thread is that of the web server."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class TestService:
    """The interface and the page for handing in."""

    def put(self, service: Served, content: str, *metadata: str) -> tuple[int, dict[str, object], str]:
        """Hand in a file; the status, the document, and the id."""
        delivery = str(uuid.uuid4())
        answer = service.client.put(
            f"/api/v1/tracks/main/entries/{delivery}",
            params={"metadata": list(metadata)},
            content=content.encode(),
            headers=service.headers("amber"),
        )
        return answer.status_code, answer.json(), delivery

    def test_a_file_is_accepted_only_with_valid_metadata(self, service: Served) -> None:
        for metadata, text in (((), "system: is missing"), (("system: a\nseconds: x",), "line 2: seconds")):
            status, document, _ = self.put(service, GOOD, *metadata)
            assert (status, document["code"]) == (400, "invalid")
            assert text in str(document["detail"])
        assert not service.service.followed.deliveries
        status, _, delivery = self.put(service, GOOD, ALL, '{"seconds": 3}')
        assert status == 201
        assert service.entry("amber", delivery)["metadata"] == {**VALUES, "seconds": 3}

    def test_the_head_of_the_run_is_enough(self, service: Served) -> None:
        run = HEAD + "q1 Q0 a 1 1.0 t\n"
        status, _, delivery = self.put(service, run, "system: mine")
        assert status == 201
        assert service.entry("amber", delivery)["metadata"] == {"system": "mine", "kind": "Automatic"}

    def test_a_team_corrects_until_the_phase_closes(self, service: Served) -> None:
        _, _, delivery = self.put(service, GOOD, ALL)

        def correct(text: str, team: str = "amber") -> int:
            path = f"/api/v1/tracks/main/entries/{delivery}/metadata"
            return service.client.put(path, content=text, headers=service.headers(team)).status_code

        assert correct("system: b") == 200
        assert correct("kind: x") == 400
        assert correct("system: c", "blue") == 404
        assert service.entry("amber", delivery)["metadata"] == {"system": "b"}
        service.now = day(20, 2)
        assert correct("system: c") == 403
        assert [event.values["values"] for event in service.live.events("metadata")] == [VALUES, {"system": "b"}]

    def test_they_are_parsed_where_nobody_waits(self, service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        """Not in the loop of the web server, not in the thread that writes, and not for an entry that is not there."""
        places: list[tuple[bool, float]] = []

        def parse(content: bytes, loader: object) -> object:
            places.append((_is_in_loop(), uploads._limiters["write"].borrowed_tokens))
            return original(content, loader)

        original = yaml.parse
        monkeypatch.setattr(yaml, "parse", parse)
        status, _, delivery = self.put(service, HEAD + "q1 Q0 a 1 1.0 t\n", "kind: manual")
        assert (status, len(places)) == (201, 2)
        path = "/api/v1/tracks/main/entries/{}/metadata"
        assert service.client.put(
            path.format(delivery), content="system: b", headers=service.headers("amber")
        ).is_success
        assert places == [(False, 0)] * 3
        absent = service.client.put(path.format(7), content="[" * 4000, headers=service.headers("amber"))
        assert (absent.status_code, len(places)) == (404, 3)

    def test_the_page_requests_them(self, service: Served) -> None:
        visitor = Visitor(service)
        assert visitor.choose(HEAD + "q1 Q0 a 1 1.0 t\n").status_code == 303
        page = visitor.page()
        assert '<input id="meta-system" name="meta.system" type="text" value="BM25" required aria-describedby' in page
        assert "<option selected>Automatic</option>" in page
        refused = visitor.post(action="hand-in", **visitor.held(), **{"meta.system": '"><b>', "meta.seconds": "x"})
        assert refused.status_code == 400
        assert "seconds: found &#34;x&#34;; allowed: a number in s" in refused.text
        assert 'value="&#34;&gt;&lt;b&gt;"' in refused.text
        assert re.findall(r'id="(\S+)"[^>]* aria-invalid="true"( autofocus)?', refused.text) == [
            ("meta-seconds", " autofocus")
        ]
        handed = visitor.post(action="hand-in", **visitor.held(), **{"meta.system": '"><b>', "meta.llm": "yes"})
        assert handed.status_code == 303
        (event,) = service.live.events("metadata")
        assert event.values["values"] == {"system": '"><b>', "llm": True}
        index = event.index - 1
        page = visitor.page(describe=str(index))
        assert "<option selected>yes</option>" in page
        assert "<b>;" not in page
        done = visitor.post(action="describe", track="main", describe=str(index), **{"meta.system": "z"})
        assert done.status_code == 303
        assert service.entry("amber", index)["metadata"] == {"system": "z"}

    def test_required_values_do_not_keep_a_file_from_the_page(
        self, service: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The check is of the lists; what no field of the page can mend is said at once."""
        monkeypatch.undo()
        visitor = Visitor(service)
        visitor.choose(GOOD)
        assert "The file can be scored" in visitor.page()
        form = visitor.page().partition('class="hand-in" method')[2]
        assert 0 < form.find('id="meta-system"') < form.find('value="hand-in"')
        assert "aria-invalid" not in form
        refused = visitor.post(action="hand-in", **visitor.held(), **{"meta.seconds": "1"})
        assert 'id="meta-system" name="meta.system" type="text" value="" required aria-invalid="true"' in refused.text
        visitor.choose(HEAD.replace("# ir_metadata.end", "# seconds: fast\n# ir_metadata.end") + "q1 Q0 a 1 1.0 t\n")
        assert re.search(
            r'value="fast" aria-invalid="true"[^>]*>\s*<small[^>]*><b[^>]*>found &#34;fast&#34;', visitor.page()
        )
        visitor.choose(HEAD.replace("# ir_metadata.end", "# sistem: x\n# ir_metadata.end") + "q1 Q0 a 1 1.0 t\n")
        page = visitor.page()
        assert "The file would be rejected." in page
        assert "sistem&#34;: unknown" in page
        assert not visitor.button()
        status, _, delivery = self.put(service, GOOD + "\n", ALL)
        assert status == 201
        while (check := service.entry("amber", delivery)["check"])["valid"] is None:
            time.sleep(0.05)
        assert check["valid"]

    @pytest.mark.usefixtures("service")
    def test_typed_values_stay_when_something_else_changes(self, tmp_path: Path) -> None:
        """The track, or the picks."""
        live = Live.graded(tmp_path / "two", rules='entry = "picks"\n', tracks=("main", "other"))
        toml = live.folder / "challenge.toml"
        toml.write_text(toml.read_text() + FIELDS)
        with served(live) as found:
            visitor, typed = Visitor(found), {"meta.system": "typed", "meta.seconds": "x"}
            visitor.choose(GOOD)
            assert visitor.post(action="pick", **visitor.held(), **typed).status_code == 303
            assert 'value="typed"' in visitor.page()
            assert visitor.post(to="other", **visitor.held(), **typed).status_code == 303
            page = visitor.page("other")
            assert 'value="typed"' in page
            assert 'value="x" aria-invalid="true"' in page

    def test_the_command_hands_them_in(self, service: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Values and files, of which a later one has priority; a file that cannot be read is named."""

        def once(
            client: Client, method: str, path: str, body: Path | bytes | None, headers: Mapping[str, str]
        ) -> object:
            content = body.read_bytes() if isinstance(body, Path) else body
            sent = {"Authorization": f"Bearer {client.token}", **headers}
            answer = service.client.request(method, path, content=content, headers=sent)
            return answer.status_code, answer.json()

        monkeypatch.setattr(Client, "_once", once)
        run, stated, token = (tmp_path / name for name in ("run.txt", "stated.yaml", "token.txt"))
        run.write_text(GOOD)
        stated.write_text(ALL, encoding="utf-8")
        token.write_text(service.headers("amber")["Authorization"].removeprefix("Bearer "))
        token.chmod(0o600)
        to = ("submit", run, "--track", "main", "--server", "http://127.0.0.1:9", "--token-file", token, "--no-check")
        refused = here(*to, "--meta", "seconds=fast")
        assert refused.code != 0
        assert 'system: is missing; expected a text; line 1: seconds: found "fast"' in refused.err
        assert "nothing.yaml: cannot be read" in here(*to, "--meta", "nothing.yaml").err
        (tmp_path / "ir-metadata.yml").write_text("seconds: slow\n")
        assert 'seconds: found "slow"' in here(*to, "--meta", "system=a").err
        (tmp_path / "run.txt.meta.yaml").write_text("seconds: 3\n")
        done = here(*to, "--meta", stated, "--meta", "system=a=\N{SNOWMAN}")
        assert done.code == 0
        digest = hashlib.sha256(GOOD.encode()).hexdigest()
        assert re.match(rf"\S+: received as entry \d+ of team amber in track main at \S+\nsha256 {digest}\n", done.out)
        (event,) = service.live.events("metadata")
        assert event.values["values"] == {**VALUES, "system": "a=\N{SNOWMAN}"}
        same = here(*to, "--meta", stated)
        assert (same.code, f"has the bytes of entry {event.index - 1} of track main" in same.err) == (1, True)
        assert len(service.live.events("metadata")) == 1
        assert here(*to, "--meta", stated, "--again").code == 0
        status, document, _ = self.put(service, GOOD, ALL)  # a program that sends another id means another entry
        last = service.live.events("arrival")[-2]
        assert (status, document["same_as"]) == (201, last.index)
        assert document["index"] == last.index + 2

    def test_a_collected_file_has_those_of_its_folder(self, service: Served, tmp_path: Path) -> None:
        inbox = tmp_path / "inbox"
        for team, metadata in (("amber", ALL), ("blue", "seconds: 1\n")):
            (inbox / team).mkdir(parents=True)
            (inbox / team / "run.txt").write_text(GOOD)
            (inbox / team / "run.txt.meta.yaml").write_text(metadata, encoding="utf-8")
        challenge = service.live.challenge
        list(collect(service.store, challenge, challenge.track("main"), str(inbox)))
        (event,) = service.live.events("metadata")
        assert event.values["values"] == VALUES
        assert "system: is missing" in (inbox / "blue" / "run.txt.errors.txt").read_text()
        assert (inbox / "amber" / "run.txt.receipt.txt").exists()


def test_the_organiser_corrects_with_a_command(live: Live) -> None:
    """Also after the close; other values stay, and wrong ones are refused."""
    handed_in(live)
    live.run(SECOND_END)
    amend = ("amend", "main/amber/1.txt", "--reason", "Mail", "--challenge", live.folder)
    assert here(*amend, "--meta", "seconds=9", "--meta", "kind=automatic").code == 0
    assert live.events("metadata")[-1].values["values"] == {**VALUES, "seconds": 9, "kind": "Automatic"}
    assert "allowed: a number in s" in here(*amend, "--meta", "seconds=x").err
    assert "unknown (did you mean seconds?)" in here(*amend, "--meta", "second=1").err
    assert "one of --received and --meta" in here(*amend).err
