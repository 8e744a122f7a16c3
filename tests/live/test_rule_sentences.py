"""The sentences of the rules: each one is held by a test that does what the rule is about.

A test names its sentences with the mark `holds`, in any module. Two tests keep this complete: every sentence
that any settings produce has a test, and every text in the modules of the sentences is produced by some settings.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from scorer.board.board import Board, Certainty, rules
from scorer.errors import ChallengeError
from scorer.live.errata import erratum_rules
from scorer.live.rules import pick_rules
from scorer.organising.picks import pick
from scorer.rules.phases import Phase, Phases, phase_rules
from scorer.rules.quota import quota_rules
from scorer.rules.teams import TEAM_RULES
from scorer.settings.tracks import Track
from tests.databases import record_teams
from tests.live_challenges import (
    ANNOUNCED,
    DAY,
    END,
    INVALID,
    MICROSECOND,
    ONE,
    SECOND,
    SECOND_END,
    SECOND_START,
    START,
    TWO,
    Live,
    lists,
    phase,
    ranking,
    solution,
)
from tests.paths import ROOT

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def held() -> list[tuple[str, str]]:
    """Each pattern of a sentence, and the test that holds the sentences that match it."""
    files = {file: file.read_text(encoding="utf-8") for file in sorted((ROOT / "tests").rglob("test_*.py"))}
    return [
        (ast.literal_eval(pattern), node.name)
        for text in files.values()
        if "@pytest.mark.holds(" in text
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.holds"
        for pattern in mark.args
    ]


def live_rules(board: Board, *, has_preliminary: bool = True) -> tuple[str, ...]:
    """The rules of a live challenge."""
    track = board.track
    facts = {"has_late_board": track.late_board, "has_baselines": bool(track.baselines)}
    facts |= {"has_preliminary": has_preliminary}
    return (
        *phase_rules(board.phases, **facts),
        *phase_rules(board.phases, **facts, by_service=True),
        *quota_rules(track.quota, has_phases=bool(track.phases)),
        *quota_rules(track.quota, has_phases=bool(track.phases), by_service=True),
        *pick_rules(track),
        *erratum_rules(board.phases),
        *TEAM_RULES,
    )


VARIANTS = (
    "",
    *(f'missing = "{value}"' for value in ("zero", "reject")),
    *(f'ties = "{value}"' for value in ("trec", "order", "expected", "best", "worst")),
    *(f'unjudged = "{value}"' for value in ("nonrelevant", "drop")),
    *(f'judged_bounds = "{value}"' for value in ("any", "list")),
    *(f'equal_ranks = "{value}"' for value in ("shared", "earlier")),
    *(f'entry = "{value}"' for value in ("best", "last", "picks")),
    *(f'entry = "{value}"\nrows = "entry"\nrows_per_team = 2' for value in ("best", "last", "picks")),
    *(f'final = "{value}"' for value in ("all", "rest")),
    *(f'exclude = "{value}"' for value in ("self", "solutions/main.txt")),
    'baselines = ["popular"]',
    "late_board = true",
    "quota = {per_day = 2}",
    "quota = {total = 1}",
    "quota = {per_day = 2, per_phase = 3, total = 4, rejected_per_day = 1}",
)

STEP = phase("one", START, END, 'shows = "ladder"', "ladder_step = 0.3")
THIRD_START = SECOND_END + 2 * DAY
BACK = (
    STEP,
    phase("two", SECOND_START, SECOND_END, 'shows = "nothing"'),
    phase("three", THIRD_START, THIRD_START + DAY),
)
LONG = phase("one", START, END, 'grace = "90s"', 'freeze = "24h"', 'shows = "nothing"')


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """All sentences that some settings produce."""
    found: set[str] = set()
    for number, settings in enumerate(VARIANTS):
        for tables in ((ONE,), (LONG, TWO), ()):
            stage = "" if tables else '\nstage = "preliminary"'
            live = Live.of(tmp_path_factory.mktemp(f"variant-{number}"), *tables, settings=settings + stage)
            found |= {*rules(live.board(ANNOUNCED)), *live_rules(live.board(ANNOUNCED))}
    for flagged, text in ((5, solution()), (0, solution(0)), (5, solution() + "q99:0:\n")):
        for tables in ((ONE,), (LONG,), *(((STEP,),) if flagged else ())):
            live = Live.of(tmp_path_factory.mktemp("scored"), *tables, flagged=flagged)
            live.write_solution(text)
            live.run(ANNOUNCED)
            live.put("a/1", lists(1, 1), START)
            live.run(START + HOUR)
            for now in (START + HOUR, END + DAY):
                board = live.board(now)
                found |= {*rules(board), *live_rules(board, has_preliminary=flagged > 0)}
                found |= set(rules(replace(board, track=board.track.model_copy(update={"final": "rest"}))))
    hidden = phase("one", START, END, 'shows = "nothing"')
    zero = phase("zero", ANNOUNCED + DAY, ANNOUNCED + 2 * DAY)
    for phases in (
        BACK,
        (zero, *BACK),
        (phase("one", START, END, 'shows = "own"'),),
        (hidden, phase("two", SECOND_START, SECOND_END, 'shows = "ladder"', "ladder_step = 0.3")),
    ):
        live = Live.of(tmp_path_factory.mktemp("ladders"), *phases)
        found |= set(live_rules(live.board(ANNOUNCED)))
    for tables in ((STEP,), (ONE,)):
        live = Live.of(tmp_path_factory.mktemp("automatic"), *tables)
        live.choose_decimals('"auto"')
        live.run(ANNOUNCED)
        live.put("a/1", lists(1, 1), START)
        for now in (START, START + HOUR):
            found |= set(rules(live.board(now)))
            live.run(now)
        found |= set(rules(live.board(START + HOUR)))
    blank = replace(board, preliminary_queries=0, track=board.track.with_fields(stage="preliminary"))
    of_clusters = Certainty(queries=20, tiers=(), separable_neighbours=0, smallest_difference=None, clusters=12)
    clustered = replace(board, certainty=(of_clusters,))
    return found | set(rules(blank)) | set(rules(clustered))


def test_every_sentence_has_a_test(sentences: set[str]) -> None:
    """Exactly one. A pattern without a sentence is left over."""
    patterns = held()
    tests = {text: [test for pattern, test in patterns if re.fullmatch(pattern, text)] for text in sentences}
    assert {text: found for text, found in tests.items() if len(found) != 1} == {}
    assert [pattern for pattern, _ in patterns if not any(re.fullmatch(pattern, text) for text in sentences)] == []


RULES = r"_?\w*rules?|_ladder_spans|_ranked_by|_queries|TEAM_RULES"
"""The names of functions and constants that have sentences on rules."""

NOT_HERE = (
    *("with_rules", "split_rules", "rule_sections", "_file_rules", "_limit_rules"),
    "publication_rules",
    *("slice_rules", "overall_rules", "metadata_rules", "visibility_rules"),
)
"""Those of other sections of the rules page and of other boards: the tests of slices, the overall ranking and metadata
hold them."""


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return [each.id for each in node.targets if isinstance(each, ast.Name)] if isinstance(node, ast.Assign) else []


def test_every_text_of_the_sentences_is_produced(sentences: set[str]) -> None:
    """So that no sentence escapes the test above: a new one needs settings here that produce it."""
    defined = [
        node
        for room in ("board", "rules")
        for file in (ROOT / "scorer" / room).glob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if any(re.fullmatch(RULES, name) and name not in NOT_HERE for name in names_of(node))
    ]
    docstrings = {
        id(node.body[0].value)
        for node in defined
        if isinstance(node, ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    texts = [
        node.value
        for statement in defined
        for node in ast.walk(statement)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value.strip()
        and id(node) not in docstrings
    ]

    tables = tomllib.loads((ROOT / "scorer" / "rules" / "sentences.toml").read_text(encoding="utf-8"))
    texts += [
        part
        for about, table in tables.items()
        if about in ("scores", "phases", "quota", "entry", "picks", "ladder", "teams")
        for text in table.values()
        for part in re.split(r"\{\w+\}", text)
        if " " in part.strip()
    ]

    assert len(texts) > 20
    together = "\n".join(sentences)
    assert [text for text in texts if text not in together] == []


# Times


@pytest.mark.holds(
    r"From the start of the phase one until the phase two starts and from the close of the phase two until the phase "
    r"three starts, the Ladder decides which preliminary scores the board shows, with a step of 0\.3\.",
    r"From the close of the phase one until final scores are shown, the Ladder decides .* with a step of 0\.3\.",
)
def test_after_a_phase_that_shows_nothing_the_board_goes_back_to_the_ladder(tmp_path: Path) -> None:
    """Until the next phase starts. The Ladder of the next phase decides before it only if there was no other one."""
    live = Live.of(tmp_path, *BACK)
    live.run(ANNOUNCED)
    for number, found in enumerate((1, 2), 1):
        live.put(f"a/{number}", lists(found, 0, str(number)), SECOND_START + number * MINUTE)
    live.run(SECOND_START + HOUR)
    moments = [at + after for at in (SECOND_START, SECOND_END, THIRD_START) for after in (-MICROSECOND, 0 * SECOND)]
    shown = [ranking(live.board(each))[0][2] for each in moments]

    assert shown == [0.1, None, None, 0.1, 0.1, 0.4]


SHOWS = ("score", "ladder", "nothing")


@pytest.mark.holds(r"From the beginning until [a-z ]*, the Ladder decides .* the board shows, with a step of 0\.3\.")
@pytest.mark.parametrize("shows", list(itertools.product(SHOWS, repeat=4)))
def test_the_sentences_say_when_the_ladder_decides(shows: Sequence[str]) -> None:
    """In every order of phases, before, in, between and after them."""
    phases = [
        Phase.model_validate({"name": f"p{at}", "start": START + 2 * at * DAY, "end": START + (2 * at + 1) * DAY})
        .model_copy(update={"shows": each, "ladder_step": Decimal("0.3") if each == "ladder" else None})
        for at, each in enumerate(shows)
    ]  # fmt: skip
    plan = Phases(tuple(phases))
    track = Track.model_construct(baselines=(), late_board=False)
    text = " ".join(
        phase_rules(plan, has_preliminary=True, has_late_board=track.late_board, has_baselines=bool(track.baselines))
    )
    begins = {"beginning": ANNOUNCED} | {f"start of the phase {each.name}": each.start for each in phases}
    begins |= {f"close of the phase {each.name}": each.closes for each in phases}
    ends = {"final scores are shown": phases[-1].closes}
    ends |= {f"the phase {each.name} starts": each.start for each in phases}
    spans = [
        (begins[begin], ends[end])
        for sentence in re.findall(r"From [^.]*, the Ladder decides", text)
        for begin, end in re.findall(r"rom the (.*?) until (.*?)(?= and from|,)", sentence)
    ]

    for at in range(-1, 9):
        now = START + at * DAY
        deciding = plan.deciding(now)
        of_ladder = deciding is not None and deciding.shows == "ladder"
        assert sum(begin <= now < end for begin, end in spans) == of_ladder


@pytest.mark.holds(
    r"The time of receipt of a file decides its phase: the time at the beginning of its name, or else .* change\."
)
def test_the_name_states_the_time_of_receipt(tmp_path: Path) -> None:
    """It goes before the time of the last change, in both directions."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/20110418T100000Z-1", lists(1, 1), END)
    live.put("b/20110418T095959Z-1", lists(1, 1), START)
    live.put("c/1", lists(1, 1), START)
    live.run(END + DAY)

    assert {file[0]: state for file, state in live.states().items()} == {"a": "scored", "b": "early", "c": "scored"}


# Which entry counts


@pytest.mark.holds(
    r"Of the entries that a team picks, the one with the best (preliminary )?P@1 counts; .* may count, .* counts\.",
    r"A team may pick up to 2 entries\. New picks replace earlier ones, and are accepted until .* has closed\.",
    r"A team may pick up to 2 entries\. New picks replace earlier ones, and are accepted at any time\.",
    r"A team picks over the service of the challenge, where it has one, or the organiser records its picks\. "
    r"Of merged teams, the picks of the team whose row has the entries count\.",
)
def test_the_best_pick_decides_until_the_last_phase_has_closed(tmp_path: Path) -> None:
    """At most two; if the picked one is withdrawn, the best entry counts."""
    live = Live.of(tmp_path, ONE, settings='entry = "picks"')
    live.run(ANNOUNCED)
    for number, found in enumerate((3, 4, 1), 1):
        live.put(f"a/{number}", lists(found, 0), START + number * MINUTE)
    live.run(START + HOUR)
    assert ranking(live.board()) == [(1, "a", 0.8)]
    with live.store(START + 2 * HOUR) as store:
        pick(live.challenge, store, ["main/a/1", "main/a/3"])
    assert ranking(live.board()) == [(1, "a", 0.6)]
    with live.store(START + 3 * HOUR) as store:
        with pytest.raises(ChallengeError, match="the limit is 2"):
            pick(live.challenge, store, ["main/a/1", "main/a/2", "main/a/3"])
        pick(live.challenge, store, ["main/a/3"])
    assert ranking(live.board(START + 3 * HOUR)) == [(1, "a", 0.2)]
    with live.store(END) as store, pytest.raises(ChallengeError, match="picks were accepted until"):
        pick(live.challenge, store, ["main/a/2"])
    live.path("a/3").unlink()
    live.run(START + 4 * HOUR)
    assert ranking(live.board()) == [(1, "a", 0.8)]
    live.put("b/1", lists(1, 0, "b"), START + 5 * HOUR)
    live.run(START + 5 * HOUR)
    with live.store() as store:
        pick(live.challenge, store, ["main/b/1"])
        record_teams(store, {"a": {"merged_into": "b"}}, {})
    assert ranking(live.board()) == [(1, "b", 0.2)]


@pytest.mark.holds(
    r"Rejected, replaced(, withdrawn, early and late| and withdrawn) entries never count, nor do .* not confirmed\."
)
def test_nothing_but_a_regular_scored_entry_counts(tmp_path: Path) -> None:
    """One of each kind, all better than the regular one."""
    live = Live.of(tmp_path, ONE, settings="quota = {per_day = 3}")
    live.run(ANNOUNCED)
    live.put("a/early", lists(5, 5, "e"), START - SECOND)
    live.put("a/good", lists(1, 1), START)
    live.put("a/replaced", lists(5, 5, "r"), START)
    live.put("a/withdrawn", lists(5, 5, "w"), START)
    live.put("a/bad", INVALID, START)
    live.put("a/misdated", lists(5, 5, "m"), END + 9 * DAY)
    live.put("a/over", lists(5, 5, "o"), START + HOUR)
    live.run(START + 2 * HOUR)
    live.path("a/withdrawn").unlink()
    live.put("a/replaced", lists(0, 0), START + DAY)
    live.put("a/late", lists(5, 5, "l"), END)
    live.run(END - HOUR)
    live.run(END + HOUR)

    assert sorted(entry.state for entry in live.entries().all) == sorted(
        ["early", "scored", "superseded", "withdrawn", "rejected", "misdated", "over-quota", "scored", "misdated"]
    )
    assert ranking(live.board()) == [(1, "a", 0.2)]
