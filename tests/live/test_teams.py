"""Teams: teams.toml, the decisions of the organiser, what the record says of them, and what the pages show."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorer.board.build import in_order
from scorer.board.site.folder import write
from scorer.errors import ChallengeError
from scorer.live.entry import submissions
from scorer.organising.scan import import_submissions
from scorer.organising.teams import disqualify, import_teams, merge, rename
from scorer.record.events import Event
from scorer.rules.teams import MergedTeam, Team, TeamChange, comparable_name, merges, set_teams, team_names, teams
from scorer.settings.loading import TEAMS_FILE, read_challenge, read_teams
from scorer.settings.tracks import Challenge
from scorer.store.events import event_with
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.store.transfer import record_problems
from tests.accessibility import has_axe, violations
from tests.boards import UPDATED, board_of, scored_row
from tests.boards import challenge as declared_challenge
from tests.browser import Page
from tests.commands import Answer, Terminal, here
from tests.databases import record_teams
from tests.pages import Element, pages, read
from tests.seeded_challenge import write_challenge
from tests.store.test_store import add, opened, submission

TEAMS = ("amber-lamp", "birch-gate", "copper-wire", "delta-fen", "even-tide", "popular")


def teams_of(folder: Path, text: str) -> Mapping[str, Any]:
    """The settings in a teams.toml with this content."""
    (folder / TEAMS_FILE).write_text(text, encoding="utf-8")
    return read_teams(folder)


def errors(folder: Path, text: str) -> list[str]:
    """The errors in a teams.toml with this content, without the path."""
    with pytest.raises(ChallengeError) as caught:
        teams_of(folder, text)
    return [line.removeprefix(f"{folder / TEAMS_FILE}: ") for line in str(caught.value).split("\n")]


# The file


def test_the_file_is_optional_and_may_be_empty(tmp_path: Path) -> None:
    """Both mean that nothing is set. A display name may be that of the folder, also in other letters."""
    assert read_teams(tmp_path) == {}
    assert teams_of(tmp_path, "# nothing\n") == {}
    assert teams_of(tmp_path, '[tea]\nname = "TEA"\n')["tea"].name == "TEA"


def test_every_key_of_a_team_is_read(tmp_path: Path) -> None:
    """The key of a table is the name of the folder, in any script."""
    text = """\
        ["Über | uns"]
        name = "Ⅻ 日本 👩\u200d🚀 می\u200cخواهم"
        affiliation = "Universität"
        links = ["https://example.org/a?b#c", "http://example.org"]
        code = "https://example.org/code"
        paper = "https://example.org/paper"
        disqualified = "two accounts"
        reason = "why"
    """
    (settings,) = teams_of(tmp_path, text).values()

    assert settings.recorded() == {
        "name": "Ⅻ 日本 👩\u200d🚀 می\u200cخواهم",
        "affiliation": "Universität",
        "links": ["https://example.org/a?b#c", "http://example.org"],
        "code": "https://example.org/code",
        "paper": "https://example.org/paper",
        "disqualified": "two accounts",
    }
    assert settings.reason == "why"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('nam = "x"', "a.nam: unknown key (did you mean name?)"),
        ('name = ""', 'a.name: found "", which is blank'),
        ('name = " x"', 'a.name: found " x", which has a space at an end'),
        ('affiliation = " "', 'a.affiliation: found " ", which is blank'),
        ("name = 3", "a.name: found 3; allowed: a text of at most 200 characters"),
        (f'name = "{"x" * 10_000}"', "which has 10,000 characters, more than 200"),
        (f'disqualified = "{"x" * 1001}"', "which has 1,001 characters, more than 1,000"),
        ('name = "a\\u0007"', "which has a character that does not show"),
        ('name = "a\\u202egpj"', "which has a character that does not show"),
        ('name = "a\\u200b"', "which has a character that does not show"),
        ('name = "a\\u200d"', "which has a character that does not show"),
        ('name = "a\\nb"', "which has a character that does not show"),
        ('affiliation = "z\u0301\u0301\u0301\u0301\u0301\u0301"', "which has a character that does not show"),
        ('code = "javascript:alert(1)"', 'a.code: found "javascript:alert(1)", which is not a URL of this kind'),
        ('code = "https://"', "which is not a URL of this kind"),
        ('code = "https://me:secret@example.org"', "which is not a URL of this kind"),
        ('paper = "https://example.org/a b"', "which is not a URL of this kind"),
        ('links = ["https://a.org", "ftp://a.org"]', 'a.links[1]: found "ftp://a.org", which is not a URL'),
        (f"links = {['https://a.org'] * 11}", "allowed: a list of at most 10 items"),
        ('merged_into = "a"', 'a.merged_into: found "a", which is the team itself'),
        ('merged_into = " "', 'a.merged_into: found " ", which is blank'),
        ('withdrawn = "x"\ndisqualified = "y"', "a: found disqualified and withdrawn; allowed: one of them"),
        (
            'merged_into = "b"\nwithdrawn = "y"',
            "a: found merged_into and withdrawn; allowed: one of them, and the team",
        ),
    ],
)
def test_an_invalid_setting_is_refused(tmp_path: Path, line: str, message: str) -> None:
    """The message names the team, the key, what was found and what is allowed."""
    (error,) = errors(tmp_path, f"[a]\n{line}\n")

    assert message in error


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    """One line each. Chains and circles of merges are refused; the message names the final team."""
    found = errors(tmp_path, 'b = 3\n[a]\nnam = 1\nname = ""\n[c]\nmerged_into = "c"\n')

    assert [line.partition(":")[0] for line in found] == ["b", "a.name", "a.nam", "c.merged_into"]

    chain = errors(tmp_path, '[a]\nmerged_into = "b"\n[b]\nmerged_into = "c"\n')
    circle = errors(tmp_path, '[a]\nmerged_into = "b"\n[b]\nmerged_into = "a"\n')

    assert chain == ['a.merged_into: found "b", which is itself merged; merge into the final team, "c"']
    assert [line.partition(", which ")[2].partition(";")[0] for line in circle] == ["leads back to the team itself"] * 2


@pytest.mark.parametrize("name", ["Tea Kettle", "TEA KETTLE", "ｔｅａ kettle", "tea\u200dkettle", "Straße", "STRASSE"])
def test_two_teams_do_not_show_the_same_name(tmp_path: Path, name: str) -> None:
    """Names are compared without case, width and characters that show nothing; folders of other teams count."""
    shown = f'[a]\nname = "tea kettle"\n[b]\nname = "straße"\n[c]\nname = "teakettle"\n[d]\nname = "{name}"\n'
    folder = f'["tea kettle"]\n[strasse]\n[teakettle]\n[d]\nname = "{name}"\n'

    for text in (shown, folder):
        (error,) = errors(tmp_path, text)
        assert error.startswith("d.name: found")
        assert error.endswith("; choose another name")


# The record


def three_teams(place: str) -> Store:
    """A store with three teams, in this order: b, a, c."""
    store = opened(place)
    for hour, team in enumerate("bac"):
        add(store, submission(f"run-{team}", team=team, hours=hour))
    return store


def team_events(store: Store) -> list[tuple[str, dict[str, Any], str]]:
    """The team, the settings and the reason of each event about a team."""
    events = store.read(lambda view: view.events())
    return [
        (each.values["team"], each.values["settings"], each.values["reason"]) for each in events if each.kind == "team"
    ]


def test_settings_are_recorded_once_and_a_team_that_left_the_file_has_none(place: str) -> None:
    """An event for each team whose settings differ; the reason belongs to decisions only."""
    with three_teams(place) as store:
        record_teams(store, {"a": {"name": "A"}, "b": {"merged_into": "a"}}, {"a": "not used", "b": "same people"})
        revision = store.read(lambda view: view.revision)
        record_teams(store, {"b": {"merged_into": "a"}, "a": {"name": "A"}, "c": {}}, {})
        assert store.read(lambda view: view.revision) == revision
        record_teams(store, {"a": {"name": "A", "disqualified": "spam"}}, {"b": "not the same"})

        assert team_events(store) == [
            ("a", {"name": "A"}, ""),
            ("b", {"merged_into": "a"}, "same people"),
            ("a", {"name": "A", "disqualified": "spam"}, "spam"),
            ("b", {}, "not the same"),
        ]
        assert list(record_problems(store)) == []


def test_events_about_teams_leave_submissions_as_they_are(place: str) -> None:
    """They belong to every track, and an import after them finds nothing new."""
    with three_teams(place) as store:
        before = store.read(lambda view: submissions(view.events("cold-start")))
        record_teams(store, {"a": {"name": "A"}}, {})
        import_submissions(store, "cold-start", [each.submission for each in before.values()])

        assert store.read(lambda view: submissions(view.events("cold-start"))) == before
        assert [event.kind for event in store.read(lambda view: view.events("other"))] == ["team"]
        assert len(store.read(lambda view: view.events())) == 4


def settings_events(*settings: tuple[str, dict[str, Any]], renamed: tuple[int, ...] = ()) -> list[Event]:
    """Events that set these settings one after the other, with the indexes 1, 2, ...; `renamed` have no reason."""
    reasons = ("" if index in renamed else f"reason {index}" for index in range(1, len(settings) + 1))
    return [
        event_with(index, "", "team", UPDATED, {"team": team, "settings": values, "reason": reason}, None)
        for index, ((team, values), reason) in enumerate(zip(settings, reasons, strict=True), 1)
    ]


def test_the_state_of_a_team_follows_from_its_events() -> None:
    """Its history has each change of its name and each decision, with the reason."""
    events = settings_events(
        ("a", {"name": "First"}),
        ("a", {"name": "First", "disqualified": "x"}),
        ("a", {"name": "Second", "disqualified": "x", "code": "https://a.org", "links": ["https://b.org"]}),
        ("a", {"withdrawn": "y"}),
        ("a", {}),
        ("a", {"merged_into": "b\udcff"}),
        ("a", {"merged_into": "c"}),
        ("a", {"affiliation": "Uni"}),
        renamed=(1, 3),
    )

    states = [set_teams(events[:count])["a"] for count in range(1, len(events) + 1)]

    assert [state.status for state in states[:5]] == ["ranked", "disqualified", "disqualified", "withdrawn", "ranked"]
    assert [state.reason for state in states[:5]] == ["", "reason 2", "reason 2", "reason 4", "reason 5"]
    assert (states[2].code, states[2].links, states[3].code) == ("https://a.org", ("https://b.org",), "")
    assert states[0].since is None
    assert states[1].since == UPDATED
    assert [(each.index, each.kind, each.before, each.after) for each in states[-1].history] == [
        (1, "named", "a", "First"),
        (2, "disqualified", "", ""),
        (3, "renamed", "First", "Second"),
        (4, "renamed", "Second", "a"),
        (4, "withdrawn", "", ""),
        (5, "reinstated", "", ""),
        (6, "merged", "", "b\\udcff"),
        (7, "separated", "b\\udcff", ""),
        (7, "merged", "", "c"),
        (8, "separated", "c", ""),
    ]


def test_a_first_name_is_no_new_name(tmp_path: Path, terminal: Terminal) -> None:
    """The file has it before the first run, so nobody saw another one."""
    write_challenge(tmp_path)
    (tmp_path / "teams.toml").write_text('[amber-lamp]\nname = "Lampe"\n')
    assert terminal.run("run", tmp_path).code == 0
    (team,) = (team for team in listed(terminal, tmp_path) if team["team"] == "amber-lamp")
    assert [(change["kind"], change["after"]) for change in team["history"]] == [("named", "Lampe")]
    pages = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html"))
    assert "Team amber-lamp named Lampe" in pages
    assert "enamed" not in pages


def test_a_new_reason_for_the_same_decision_is_in_the_history() -> None:
    """The date of the decision stays."""
    events = settings_events(("a", {"disqualified": "x"}), ("a", {"disqualified": "y"}))
    later = [events[0], replace(events[1], at=UPDATED.replace(year=2012))]

    state = set_teams(later)["a"]

    assert (state.reason, state.since) == ("reason 2", UPDATED)
    assert [each.kind for each in state.history] == ["disqualified", "disqualified"]


def test_merged_teams_count_as_one_from_the_merge_on() -> None:
    """Before it, and after it is reversed, they are separate. A chain or a circle may exist for a moment."""
    events = settings_events(("a", {"merged_into": "b"}), ("c", {"merged_into": "b"}), ("a", {}))

    assert [merges(events).members("b", index) for index in (0, 1, 2, 3, 9)] == [
        ("b",),
        ("a", "b"),
        ("a", "b", "c"),
        ("b", "c"),
        ("b", "c"),
    ]
    assert merges(events).members("a") == ("a",)
    assert merges(events).members("c", 1) == ("c",)
    assert merges(events).members("a", 2) == ("a", "b", "c")

    joined = merges(
        settings_events(("a", {"merged_into": "b"}), ("b", {"merged_into": "c"}), ("c", {"merged_into": "a"}))
    )

    assert [joined.final("a", index) for index in (1, 2)] == ["b", "c"]
    assert joined.final("a", 3) in "abc"


def test_shown_names_differ_even_if_a_folder_imitates_a_display_name() -> None:
    """The display name then has the folder after it; folders keep their names."""
    states = {"a": Team(name="Best"), "b": Team(name="BEST"), "c": Team(name="ｃｏｐｙ")}

    names = team_names(("a", "b", "c", "copy", "x\udcff", "d", "BEST (b)"), states)

    assert names == {
        "a": "Best",
        "b": "b",
        "c": "ｃｏｐｙ (c)",
        "copy": "copy",
        "x\udcff": "x\\udcff",
        "d": "d",
        "BEST (b)": "BEST (b)",
    }
    assert len(set(map(comparable_name, names.values()))) == len(names)


# The commands, the record and the board


@pytest.fixture(scope="module")
def scored_challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge with six teams whose files are scored."""
    folder = tmp_path_factory.mktemp("teams") / "challenge"
    write_challenge(folder)
    assert here("run", folder).code == 0
    return folder


@pytest.fixture
def season(scored_challenge: Path, tmp_path: Path) -> Path:
    """A copy of the scored challenge."""
    return Path(shutil.copytree(scored_challenge, tmp_path / "season"))


@pytest.fixture
def organiser(season: Path) -> Iterator[tuple[Challenge, Store]]:
    """The challenge and its database."""
    challenge = read_challenge(season)
    with Store.open(challenge.database_address) as store:
        yield challenge, store


def board_rows(terminal: Terminal, folder: Path) -> dict[str, tuple[int | None, int, str]]:
    """The rank, the number of entries and the status of each team, in the order of the board."""
    answer = terminal.run("leaderboard", folder, "--format", "json")
    assert answer.code == 0, answer.err
    return {row["team"]: (row["rank"], row["entries"], row["status"]) for row in json.loads(answer.out)["rows"]}


def decide(terminal: Terminal, folder: Path, *arguments: str) -> Answer:
    """A decision that succeeds."""
    answer = terminal.run("teams", *arguments, "--challenge", folder)
    assert answer.code == 0, answer.err
    return answer


@pytest.mark.holds(
    r"A team that is disqualified or withdraws stays on the board without a rank; the teams below it move up\."
)
def test_decisions_can_be_taken_back(season: Path, terminal: Terminal) -> None:
    """A disqualified team is the last row; a merge has the best entry of both; a renamed team keeps its address."""
    before = board_rows(terminal, season)
    decide(terminal, season, "disqualify", "birch-gate", "--reason", "two accounts")
    without = board_rows(terminal, season)
    decide(terminal, season, "reinstate", "birch-gate", "--reason", "a mistake")

    teams = [team for team in before if team not in ("birch-gate", "popular")]
    assert [without[team][0] for team in teams] == [1, 2, 3, 4]
    assert list(without)[-1] == "birch-gate"
    assert without["birch-gate"] == (None, 1, "disqualified")
    assert board_rows(terminal, season) == before

    decide(terminal, season, "merge", "amber-lamp", "even-tide", "--reason", "one group")
    merged = board_rows(terminal, season)
    decide(terminal, season, "unmerge", "amber-lamp", "--reason", "two groups")

    assert "amber-lamp" not in merged
    assert merged["even-tide"] == (before["amber-lamp"][0], 2, "ranked")
    assert board_rows(terminal, season) == before

    decide(terminal, season, "rename", "amber-lamp", "Lampe d'ambre ✨")
    renamed = board_rows(terminal, season)
    terminal.run("render", season)
    page = (season / "site" / "teams" / "amber-lamp.html").read_text(encoding="utf-8")
    decide(terminal, season, "rename", "amber-lamp", "amber-lamp")

    assert renamed == {"Lampe d'ambre ✨" if name == "amber-lamp" else name: row for name, row in before.items()}
    assert "<bdi>Lampe d&#39;ambre ✨</bdi>" in page
    assert board_rows(terminal, season) == before


@pytest.fixture
def mixed(season: Path) -> Path:
    """The scored challenge with two more teams whose files are rejected."""
    for team in ("rejected-one", "rejected-two"):
        (season / "submissions" / "main" / f"20110419T100000Z-{team}.txt").write_text("this is no list\n")
    assert here("run", season).code == 1
    return season


@pytest.mark.parametrize(("decision", "teams"), [("disqualify", TEAMS[1:2]), ("withdraw", TEAMS[:5])])
def test_a_decision_about_a_team_leaves_all_others_on_the_board(
    decision: str, teams: tuple[str, ...], mixed: Path, terminal: Terminal
) -> None:
    """Teams whose files are rejected are above the team, with their rows, pages and errors, in every form."""
    for team in teams:
        decide(terminal, mixed, decision, team, "--reason", "two accounts")
    assert here("render", mixed).code == 0
    everyone = sorted([*TEAMS, "rejected-one", "rejected-two"])
    order = [row["team"] for row in json.loads((mixed / "site/main/leaderboard.json").read_text())["rows"]]
    table = terminal.run("leaderboard", mixed).out
    page = read((mixed / "site/main/index.html").read_text())
    comma_separated = (mixed / "site/main/leaderboard.csv").read_text().splitlines()[1:]

    assert sorted(order) == everyone
    assert order[-2 - len(teams) : -len(teams)] == ["rejected-one", "rejected-two"]
    assert [line.split(",")[1] for line in comma_separated] == order
    assert all(table.count(f" {team} ") == 1 for team in everyone)
    linked = [each.attributes["href"] for each in page.of_class("board").all("a")]
    assert [each for each in linked if each and each.endswith(".html")] == [f"../teams/{team}.html" for team in order]
    for team in ("rejected-one", "rejected-two"):
        assert "the format cannot be detected" in (mixed / "site/teams" / f"{team}.html").read_text()


def test_the_statistics_of_a_row_do_not_depend_on_rows_without_a_score(mixed: Path, terminal: Terminal) -> None:
    """A disqualified team has its own interval, histogram, queries and comparisons."""
    decide(terminal, mixed, "disqualify", "birch-gate", "--reason", "two accounts")
    assert here("render", mixed).code == 0
    with_rejected = statistics_of(mixed)
    for file in (mixed / "submissions/main").glob("*rejected*"):
        file.unlink()
    assert here("run", mixed).code == 0

    assert statistics_of(mixed) == with_rejected
    assert "birch-gate" in with_rejected


def statistics_of(folder: Path) -> dict[str, list[object]]:
    """What the statistics say of each team with a score, on its row and on its page, by its name."""
    rows = json.loads((folder / "site/main/leaderboard.json").read_text())["rows"]
    found: dict[str, list[object]] = {}
    for row in rows:
        page = read((folder / f"site/teams/{row['team']}.html").read_text())
        tables = [each for each in page.all("table") if {"nearest", "queries"} & set(each.classes())]
        if tables:
            found[row["team"]] = [row["low"], row["high"], row["tier"], [table.words() for table in tables]]
    return found


def test_commands_keep_the_comments_and_the_order_of_the_file(season: Path, terminal: Terminal) -> None:
    """They change only what they are about."""
    file = season / TEAMS_FILE
    text = '# of the organisers\n[even-tide]  # the tide\nname = "Tide"  # as they like it\n\n[amber-lamp]\ncode = "https://a.org"\n'
    file.write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    decide(terminal, season, "set", "even-tide", "affiliation=Uni", "links=https://b.org", "links=https://c.org")
    decide(terminal, season, "set", "even-tide", "affiliation=", "paper=https://d.org")
    decide(terminal, season, "withdraw", "delta-fen", "--reason", "by mail")

    expected = text.replace(
        "like it\n", 'like it\nlinks = ["https://b.org", "https://c.org"]\npaper = "https://d.org"\n'
    )
    found = file.read_bytes().decode().replace("\r\n", "\n")
    assert found.startswith(expected)
    assert tomllib.loads(found)["delta-fen"] == {"withdrawn": "by mail"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["disqualify", "amber-lamp"], 2, "disqualify needs --reason TEXT"),
        (["disqualify", "amber-lamp", "--reason", " "], 2, "found a blank text"),
        (["rename", "amber-lamp"], 2, "expected rename TEAM NAME"),
        (["rename", "amber-lamp", "x", "--reason", "y"], 2, "rename takes no --reason"),
        (["list", "x"], 2, "list takes no values"),
        (["set", "amber-lamp", "cod=x"], 2, "(did you mean code?)"),
        (["set", "amber-lamp"], 2, "expected set TEAM KEY=VALUE..."),
        (["promote", "amber-lamp"], 2, "invalid choice"),
        (["rename", "amber-lam", "x"], 1, 'no team is called "amber-lam" (did you mean amber-lamp?)'),
        (["merge", "amber-lamp", "nobody", "--reason", "x"], 1, 'no team is called "nobody"'),
        (["merge", "amber-lamp", "amber-lamp", "--reason", "x"], 1, "which is the team itself"),
        (["unmerge", "amber-lamp", "--reason", "x"], 1, '"amber-lamp" is not merged into another team'),
        (["reinstate", "amber-lamp", "--reason", "x"], 1, "is neither disqualified nor withdrawn"),
        (["rename", "amber-lamp", "Birch-Gate"], 1, "reads as the name of the folder of another team, birch-gate"),
        (["rename", "amber-lamp", "a\u202eb"], 1, "has a character that does not show"),
        (["rename", "amber-lamp", "a\udcff"], 1, "has a character that does not show"),
        (["set", "amber-lamp", "code=javascript:1"], 1, "is not a URL of this kind"),
        (["disqualify", "amber-lamp", "--reason", "x" * 1001], 1, "more than 1,000"),
    ],
)
def test_a_wrong_decision_changes_nothing(
    season: Path, terminal: Terminal, arguments: list[str], code: int, message: str
) -> None:
    """Neither the file nor the record; the message says what to do."""
    answer = terminal.run("teams", *arguments, "--challenge", season)

    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert not (season / TEAMS_FILE).exists()
    assert [row["history"] for row in listed(terminal, season)] == [[]] * 6


def listed(terminal: Terminal, folder: Path) -> list[dict[str, Any]]:
    """The list of teams for programs."""
    document = json.loads(terminal.run("teams", "--format", "json", "--challenge", folder).out)
    assert document["version"] == 1
    teams: list[dict[str, Any]] = document["teams"]
    return teams


def test_a_merged_team_cannot_be_disqualified_or_be_a_target(season: Path, terminal: Terminal) -> None:
    """The final team can: a merge does not hide a disqualification."""
    decide(terminal, season, "merge", "amber-lamp", "birch-gate", "--reason", "x")

    wrong = terminal.run("teams", "disqualify", "amber-lamp", "--reason", "y", "--challenge", season)
    chain = terminal.run("teams", "merge", "delta-fen", "amber-lamp", "--reason", "y", "--challenge", season)
    decide(terminal, season, "disqualify", "birch-gate", "--reason", "z")

    assert "found merged_into and disqualified" in wrong.err
    assert 'merge into the final team, "birch-gate"' in chain.err
    assert "amber-lamp" not in board_rows(terminal, season)
    assert board_rows(terminal, season)["birch-gate"] == (None, 2, "disqualified")


def test_the_list_shows_every_team(season: Path, terminal: Terminal) -> None:
    """In the order of arrival, with the decision and its reason; as JSON with the history."""
    decide(terminal, season, "rename", "birch-gate", "Gate")
    decide(terminal, season, "disqualify", "birch-gate", "--reason", "two accounts")
    decide(terminal, season, "merge", "copper-wire", "birch-gate", "--reason", "the second account")

    lines = decide(terminal, season, "list").out.splitlines()
    second, third = listed(terminal, season)[1:3]

    assert [line.split()[0] for line in lines] == ["team", *TEAMS]
    assert lines[2].split()[:3] == ["birch-gate", "Gate", "disqualified"]
    assert lines[2].endswith("two accounts")
    assert "merged into birch-gate" in lines[3]
    assert (second["status"], second["reason"], second["name"]) == ("disqualified", "two accounts", "Gate")
    assert [each["kind"] for each in second["history"]] == ["named", "disqualified"]
    assert (third["merged_into"], third["reason"]) == ("birch-gate", "the second account")


def test_a_run_records_changes_made_by_hand(season: Path, terminal: Terminal) -> None:
    """Also for a team whose first file arrives in the same run."""
    (season / TEAMS_FILE).write_text('[amber-lamp]\nname = "By hand"\n[newcomer]\nname = "New"\n[nobody]\nname = "N"\n')
    files = season / "submissions" / "main"
    (files / "newcomer.txt").write_text((files / "20110418T100000Z-amber-lamp.txt").read_text())

    answer = terminal.run("run", season)

    assert answer.code == 0
    assert 'no team is called "nobody" yet' in answer.err
    assert [line for line in answer.err.splitlines() if "newcomer" in line and "the same bytes" not in line] == []
    assert {"By hand", "New"} <= board_rows(terminal, season).keys()


def test_an_invalid_file_leaves_the_recorded_decisions(season: Path, terminal: Terminal) -> None:
    """Tracks are scored all the same, and the exit code is 1."""
    decide(terminal, season, "disqualify", "birch-gate", "--reason", "x")
    with (season / TEAMS_FILE).open("a") as file:
        file.write('[amber-lamp]\nmerged_into = "amber-lam"\n[even-tide]\nnam = 1\n')
    unknown_key = terminal.run("run", season)
    (season / TEAMS_FILE).write_text('[amber-lamp]\nmerged_into = "birch-gat"\n')
    unknown_team = terminal.run("run", season)

    assert (unknown_key.code, unknown_team.code) == (1, 1)
    assert "even-tide.nam: unknown key (did you mean name?)" in unknown_key.err
    assert "no team is called so (did you mean birch-gate?)" in unknown_team.err
    assert unknown_team.err.count("the recorded names and decisions stay") == 1
    assert "main: 0 scored, 6 known" in unknown_team.err
    assert board_rows(terminal, season)["birch-gate"] == (None, 1, "disqualified")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('["odd\\u0007"]\nmerged_into = "odd\\\\x07"', "which is the team itself"),
        ('["odd\\u0007"]\nname = "Odd"\n["odd\\\\x07"]\nname = "Odder"', "is a second table of the same team"),
    ],
)
def test_a_name_may_be_written_as_it_is_or_as_messages_show_it(
    organiser: tuple[Challenge, Store], text: str, message: str
) -> None:
    """Either way, it is one team."""
    challenge, store = organiser
    add(store, submission("run", team="odd\x07"))
    (challenge.root / TEAMS_FILE).write_text(text)

    with pytest.raises(ChallengeError, match=message):
        import_teams(challenge, store)


def test_a_kill_between_file_and_record_is_healed(
    organiser: tuple[Challenge, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next import, or the next command, records what the file says, with its reason."""
    challenge, store = organiser

    def die_unless_empty(_view: Snapshot, settings: Mapping[str, Any]) -> list[object]:
        if settings:
            raise KeyboardInterrupt
        return []

    with monkeypatch.context() as patch:
        patch.setattr("scorer.organising.teams.team_events", die_unless_empty)
        with pytest.raises(KeyboardInterrupt):
            merge(challenge, store, "amber-lamp", "birch-gate", "one group")
    assert team_events(store) == []
    assert read_teams(challenge.root)["amber-lamp"].merged_into == "birch-gate"

    rename(challenge, store, "amber-lamp", "Both")

    assert team_events(store) == [
        ("amber-lamp", {"merged_into": "birch-gate"}, "one group"),
        ("amber-lamp", {"merged_into": "birch-gate", "name": "Both"}, ""),
    ]


@pytest.mark.parametrize("name", ["x\udcff", "a\u202eb", "a\\udcffb", 'quo"te', "a.b", "ünï", "[x]", "=1+1"])
def test_a_team_with_any_folder_name_can_be_decided_about(tmp_path: Path, name: str) -> None:
    """The file has the name as messages show it, so that it is always text; importing the file changes nothing."""
    write_challenge(tmp_path)
    challenge = read_challenge(tmp_path)
    with Store.open(challenge.database_address) as store:
        for team in (name, "other"):
            add(store, submission(f"run-{team}", team=team, track="main"))
        shown = next(iter(store.read(lambda view: teams(view.teams, view.events())).values())).folder
        disqualify(challenge, store, shown, "a reason")
        merge(challenge, store, "other", shown, "another")
        notes = import_teams(challenge, store)

        assert notes == ()
        assert [(team, set(settings)) for team, settings, _ in team_events(store)] == [
            (name, {"disqualified"}),
            ("other", {"merged_into"}),
        ]
        assert merges(store.read(lambda view: view.events())).final("other") == name


# The pages


def sentences(element: Element, name: str) -> str:
    """All text of the first element with a class."""
    return " ".join(each.words() for each in element.of_class(name).all() if each.words())


def test_pages_show_links_decisions_and_history_as_text(season: Path, terminal: Terminal) -> None:
    """Text of teams is escaped, and links are marked as theirs."""
    decide(terminal, season, "rename", "birch-gate", "<script>alert(1)</script>")
    decide(
        terminal,
        season,
        "set",
        "birch-gate",
        "affiliation=<b>Uni</b>",
        'links=https://a.org/"><b>',
        "code=https://c.org",
    )
    decide(terminal, season, "disqualify", "birch-gate", "--reason", "<i>two</i> accounts")
    decide(terminal, season, "merge", "copper-wire", "birch-gate", "--reason", "same <u>people</u>")
    assert terminal.run("render", season).code == 0
    site = season / "site"
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    page = texts[site / "teams" / "birch-gate.html"]
    tree = read(page)
    merged = read(texts[site / "teams" / "copper-wire.html"])

    assert not any(tag in text for text in texts.values() for tag in ("<script>", "<i>two", "<b>Uni", "<u>people"))
    anchors = [each.attributes for each in tree.of_class("team-links").all("a")]
    assert [each["href"] for each in anchors] == ["https://c.org", 'https://a.org/"><b>']
    assert {each["rel"] for each in anchors} == {"nofollow noopener noreferrer ugc"}
    assert "&lt;b&gt;Uni&lt;/b&gt;" in page
    assert "<i>two</i> accounts." in sentences(tree, "decision")
    assert "copper-wire" in sentences(tree, "merged")
    assert "Named <script>alert(1)</script>" in sentences(tree, "history")
    assert [each.attributes["href"] for each in merged.of_class("decision").all("a")] == ["birch-gate.html"]
    assert "same <u>people</u>" in sentences(merged, "history")
    (row,) = (each for each in read(texts[site / "main" / "index.html"]).all("tr") if "excluded" in each.classes())
    assert row.of_class("badge").words() == "disqualified"


def test_a_team_without_settings_has_no_empty_parts(season: Path) -> None:
    """Neither links nor a history."""
    page = (season / "site" / "teams" / "amber-lamp.html").read_text(encoding="utf-8")

    assert not any(name in page for name in ("team-links", 'class="history"', 'class="decision"', "affiliation"))


def decided_pages() -> dict[str, str]:
    """A site with a disqualified team, whose texts are long, and a merged team."""
    declared = declared_challenge()
    rows = [scored_row(name, score, 0.2, 5) for name, score in (("first", 0.4), ("second", 0.3), ("third", 0.2))]
    out = replace(
        rows[0].team,
        status="disqualified",
        reason="W" * 300,
        since=UPDATED,
        affiliation="W" * 300,
        links=("https://example.org/" + "w" * 300,),
        code="https://example.org",
        history=(TeamChange(3, UPDATED, "renamed", "a" * 200, "b" * 200, "W" * 300),),
    )
    merged = replace(rows[1].team, name="gone", slug="gone", since=UPDATED, reason="W" * 300)
    found = board_of(declared.tracks[0], replace(rows[0], team=out), *rows[1:])
    return pages(declared, [replace(found, merged=(MergedTeam(merged, out),))])


def test_an_excluded_row_is_last_even_without_a_score() -> None:
    """Below all other rows, with no rank by either score."""
    declared = declared_challenge()
    rows = [scored_row(name, score, 0.2, 5) for name, score in (("a", 0.4), ("b", 0.3), ("c", 0.2))]
    out = replace(rows[0], team=replace(rows[0].team, status="withdrawn"))
    unscored = replace(rows[2], entry=None)

    order = in_order([out, unscored, rows[1]], declared.tracks[0])

    assert [(row.team.name, row.rank, row.preliminary_rank) for row in order] == [
        ("b", 1, 1),
        ("c", None, None),
        ("a", None, None),
    ]


@pytest.fixture(scope="module")
def decided_site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the site with decisions."""
    folder = tmp_path_factory.mktemp("decided")
    write(decided_pages(), folder)
    return folder.as_uri()


@pytest.mark.browser
class TestInABrowser:
    """Pages of teams with decisions, in a browser."""

    @pytest.mark.skipif(not has_axe(), reason="axe-core is not installed")
    @pytest.mark.parametrize("page", ["teams/first.html", "teams/gone.html", "cold-start/index.html"])
    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    def test_pages_are_accessible(self, tab: Page, decided_site: str, page: str, dark: bool) -> None:
        """axe-core finds no violation."""
        tab.open(f"{decided_site}/{page}", dark=dark)
        assert violations(tab) == []

    @pytest.mark.parametrize("page", ["teams/first.html", "teams/gone.html"])
    def test_long_texts_fit_a_phone(self, tab: Page, decided_site: str, page: str) -> None:
        """Nothing makes the page wider than the screen."""
        tab.open(f"{decided_site}/{page}", width=320)
        assert tab.ask("document.documentElement.scrollWidth") <= 320
