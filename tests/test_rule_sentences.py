"""The sentences of the rules: each one is held by a test here that does what the rule is about.

A test names its sentences with `holds`. Two tests keep this complete: every sentence that any settings produce has a
test, and every text in the modules of the sentences is produced by some settings.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from scorer.board.board import Board
from scorer.board.rules import rules
from scorer.challenge.phases import Phase
from scorer.challenge.settings import Track
from scorer.errors import ChallengeError
from scorer.executors import executor_named
from scorer.live.errata import erratum_rules
from scorer.live.phases import Phases, at_stage, phase_rules
from scorer.live.picks import entry_rules
from scorer.live.quotas import quota_rules
from scorer.live.teams import TEAM_RULES
from scorer.organising.decisions import amend
from scorer.organising.errata import apply, preview
from scorer.organising.phases import extend
from scorer.organising.picks import pick
from tests.live import (
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

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
ROOT = Path(__file__).parents[1]

HELD: dict[str, str] = {}
"""By the pattern of a sentence: the name of the test that holds it."""

Test = TypeVar("Test", bound=Callable[..., None])


def holds(*patterns: str) -> Callable[[Test], Test]:
    """Note that a test holds the sentences that match these patterns."""

    def noted(test: Test) -> Test:
        for pattern in patterns:
            assert pattern not in HELD
            HELD[pattern] = test.__name__
        return test

    return noted


def live_rules(board: Board, *, has_preliminary: bool = True) -> tuple[str, ...]:
    """The rules of a live challenge."""
    return (
        *phase_rules(board.phases, board.track, has_preliminary=has_preliminary),
        *quota_rules(board.track),
        *entry_rules(board.track),
        *erratum_rules(board.phases),
        *TEAM_RULES,
    )


VARIANTS = (
    "",
    *(f'missing = "{value}"' for value in ("zero", "reject")),
    *(f'ties = "{value}"' for value in ("trec", "order", "expected", "best", "worst")),
    *(f'equal_ranks = "{value}"' for value in ("shared", "earlier")),
    *(f'entry = "{value}"' for value in ("best", "last", "picks")),
    *(f'final = "{value}"' for value in ("all", "rest")),
    'baselines = ["popular"]',
    "late_board = true",
    "quota = {per_day = 2}",
    "quota = {total = 1}",
    "quota = {per_day = 2, per_phase = 3, total = 4, rejected_per_day = 1}",
)

FREE = phase("one", START, END, 'shows = "ladder"')
STEP = phase("one", START, END, 'shows = "ladder"', "ladder_step = 0.3")
THIRD_START = SECOND_END + 2 * DAY
BACK = (
    phase("one", START, END, 'shows = "ladder"'),
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
        for tables in ((ONE,), (LONG,), *(((FREE,), (STEP,)) if flagged else ())):
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
    for phases in (BACK, (zero, *BACK), (hidden, phase("two", SECOND_START, SECOND_END, 'shows = "ladder"'))):
        live = Live.of(tmp_path_factory.mktemp("ladders"), *phases)
        found |= set(live_rules(live.board(ANNOUNCED)))
    for tables in ((FREE,), (ONE,)):
        live = Live.of(tmp_path_factory.mktemp("automatic"), *tables)
        live.choose_decimals('"auto"')
        live.run(ANNOUNCED)
        live.put("a/1", lists(1, 1), START)
        for now in (START, START + HOUR):
            found |= set(rules(live.board(now)))
            live.run(now)
        found |= set(rules(live.board(START + HOUR)))
    blank = replace(board, preliminary_queries=0, track=at_stage(board.track, board.phases, "preliminary"))
    return found | set(rules(blank))


def test_every_sentence_has_a_test(sentences: set[str]) -> None:
    """Exactly one. A pattern without a sentence is left over."""
    tests = {text: [test for pattern, test in HELD.items() if re.fullmatch(pattern, text)] for text in sentences}
    assert {text: found for text, found in tests.items() if len(found) != 1} == {}
    assert [pattern for pattern in HELD if not any(re.fullmatch(pattern, text) for text in sentences)] == []


RULES = r"_?\w*rules?|_ladder_spans|_rounding|_ties|_ranked_by|_queries|_never_counting|MISSING|EQUAL_RANKS|TEAM_RULES"
"""The names of functions and constants that have sentences on rules."""

NOT_HERE = ("with_rules", "split_rules", "rule_sections", "_change_rules", "_file_rules", "_limit_rules")
"""Those of other sections of the rules page."""


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return [each.id for each in node.targets if isinstance(each, ast.Name)] if isinstance(node, ast.Assign) else []


@pytest.mark.parametrize("room", ["board", "live"])
def test_every_text_of_the_sentences_is_produced(sentences: set[str], room: str) -> None:
    """So that no sentence escapes the test above: a new one needs settings here that produce it."""
    defined = [
        node
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

    assert len(texts) > 20
    together = "\n".join(sentences)
    assert [text for text in texts if text not in together] == []


# Times


@holds(
    r"The phase \w+ receives entries from .* until [-\d]+ [:\d]+ UTC\.",
    r"The phase \w+ receives entries from .* UTC; what is received up to .* later, before .* UTC, still counts\.",
    r"A phase closes at its end, or at the end of its grace .* the exact moment at which it closes is not\.",
    r"An entry that is received before the first phase is early; .* are scored and are never ranked\.",
)
@pytest.mark.parametrize("grace", [0, 90])
def test_the_exact_second_of_receipt_decides(tmp_path: Path, grace: int) -> None:
    """A second before the start is early; the last second before the close is in the phase."""
    live = Live.of(tmp_path, phase("one", START, END, f'grace = "{grace}s"'))
    closes = END + grace * SECOND
    live.run(ANNOUNCED)
    for file, received in (("a/1", START - SECOND), ("b/1", START), ("c/1", closes - SECOND), ("d/1", closes)):
        live.put(file, lists(3, 3, file), received)
    live.run(END + DAY)

    assert list(live.states().values()) == ["early", "scored", "scored", "late"]
    assert len(live.outcomes) == 4
    assert {name for rank, name, _ in ranking(live.board()) if rank} == {"b", "c"}


@holds(r"An entry that is received before .* never ranked\. They are listed on a late board after the last phase\.")
def test_early_and_late_entries_are_listed_on_the_late_board(tmp_path: Path) -> None:
    """Without a rank."""
    live = Live.of(tmp_path, ONE, settings="late_board = true")
    live.run(ANNOUNCED)
    live.put("a/1", lists(5, 5), START - SECOND)
    live.put("b/1", lists(4, 4), END)
    live.run(END + DAY)

    assert [(row.rank, row.team.name) for row in live.board().late] == [(None, "a"), (None, "b")]


@holds(
    r"From .* UTC until .* UTC the board is frozen: it shows the record as it was before\. What is recorded later, "
    r"also of files that were received before, appears when the phase has closed\."
)
def test_a_frozen_board_shows_the_state_before(tmp_path: Path) -> None:
    """Neither an entry nor a decision of the frozen period, nor an entry from before that is recorded in it."""
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"', 'grace = "1h"'))
    live.run(ANNOUNCED)
    live.put("a/1", lists(1, 1), END - DAY - SECOND)
    live.run(END - DAY - MICROSECOND)
    live.put("a/2", lists(2, 2), END - DAY - SECOND)
    live.put("a/3", lists(5, 5), END - DAY)
    live.run(END - HOUR)
    with live.store(END) as store:
        store.record_teams({"a": {"disqualified": "two accounts"}}, {})

    assert ranking(live.board(END + HOUR - MICROSECOND)) == [(1, "a", 0.2)]
    assert ranking(live.board(END + HOUR)) == [(None, "a", 1.0)]


@holds(
    r"From the start of the phase \w+ until it has closed, at .* UTC, the board lists .* without scores and ranks\.",
    r"The board shows no scores and no ranks during the phase \w+\.",
)
def test_a_phase_may_show_nothing(tmp_path: Path) -> None:
    """From its start until it has closed. Before it, baselines have scores."""
    live = Live.of(tmp_path, phase("one", START, END, 'shows = "nothing"'), settings='baselines = ["popular"]')
    live.put("popular/1", lists(2, 2), ANNOUNCED)
    live.run(ANNOUNCED)
    assert ranking(live.board(START - MICROSECOND)) == [(None, "popular", 0.4)]
    live.put("a/1", lists(1, 1), START)
    live.run(START + HOUR)

    for now in (START, END - MICROSECOND):
        assert {each[1:] for each in ranking(live.board(now))} == {("popular", None), ("a", None)}
    assert ranking(live.board(END)) == [(None, "popular", 0.4), (1, "a", 0.2)]


@holds(
    r"The Ladder shows the preliminary score of an entry only if .* by more than 0\.3; what it lacks of 1 is .*",
    r"The Ladder looks at the scored entries of a team in the order .* waits while an earlier one has no result\.",
    r"While the Ladder is used, the best score that was shown for an entry which is there counts\. .* not shown\.",
    r"From the beginning until [a-z ]*, the Ladder decides .* the board shows, with a step of 0\.3\.",
)
def test_the_ladder_with_a_step_shows_large_improvements(tmp_path: Path) -> None:
    """Of 0.4, 0.6 and 0.8, a step of 0.3 shows the first and the last one. The first one counts if that one goes."""
    live = Live.of(tmp_path, STEP, TWO)
    live.run(ANNOUNCED)
    for number, found in enumerate((2, 3, 4), 1):
        live.put(f"a/{number}", lists(found, 0, str(number)), START + number * MINUTE)
    live.run(START + HOUR)
    shown = {entry.file: entry.preliminary[0] for entry in live.board().rows[0].entries}
    assert shown == {"main/a/1": 0.4, "main/a/2": None, "main/a/3": 0.7}
    assert ranking(live.board(SECOND_START - MICROSECOND)) == [(1, "a", 0.7)]
    assert ranking(live.board(SECOND_START)) == [(1, "a", 0.8)]
    live.path("a/3").unlink()
    live.run(START + 2 * HOUR)
    assert ranking(live.board()) == [(1, "a", 0.4)]

    with live.store() as store:
        store.forget("main", "main/a/1", live.entry("a/1").digest, "wrong")
    assert [entry.answer for entry in live.board().rows[0].entries] == ["waits", "waits", None]


@holds(
    r"The Ladder shows the preliminary score .* on the (5 preliminary )?queries between .* of one query(, 1/5)?\.",
    r"From the beginning until .* the Ladder decides which preliminary scores the board shows\.",
)
def test_the_ladder_shows_what_exceeds_a_standard_error(tmp_path: Path) -> None:
    """A fifth more on one query of five is just one standard error, 0.2, and is not shown; two queries more are."""
    live = Live.of(tmp_path, FREE)
    live.run(ANNOUNCED)
    for number, found in enumerate((1, 2, 3), 1):
        live.put(f"a/{number}", lists(found, 0, str(number)), START + number * MINUTE)
    live.run(START + HOUR)

    shown = {entry.file: entry.preliminary[0] for entry in live.board().rows[0].entries}
    assert shown == {"main/a/1": 0.2, "main/a/2": None, "main/a/3": 0.6}


@holds(
    r"From the start of the phase one until the phase two starts and from the close of the phase two until the phase "
    r"three starts, the Ladder decides which preliminary scores the board shows\.",
    r"From the close of the phase one until final scores are shown, the Ladder decides .* the board shows\.",
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

    assert shown == [0.2, None, None, 0.2, 0.2, 0.4]


SHOWS = ("score", "ladder", "nothing")


@pytest.mark.parametrize("shows", list(itertools.product(SHOWS, repeat=4)))
def test_the_sentences_say_when_the_ladder_decides(shows: Sequence[str]) -> None:
    """In every order of phases, before, in, between and after them."""
    phases = [
        Phase.model_validate({"name": f"p{at}", "start": START + 2 * at * DAY, "end": START + (2 * at + 1) * DAY})
        .model_copy(update={"shows": each})
        for at, each in enumerate(shows)
    ]  # fmt: skip
    plan = Phases(tuple(phases))
    track = Track.model_construct(baselines=(), late_board=False)
    text = " ".join(phase_rules(plan, track, has_preliminary=True))
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


@holds(
    r"The board shows the looks of each team as long as it shows preliminary scores: .* withdrawn and replaced ones\."
)
def test_looks_are_counted(tmp_path: Path) -> None:
    """Withdrawn and replaced entries are; rejected and late ones are not."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    live.put("a/1", lists(1, 1), START)
    live.put("a/2", lists(2, 1), START + MINUTE)
    live.put("a/3", INVALID, START + MINUTE)
    live.run(START + HOUR)
    live.path("a/1").unlink()
    live.put("a/2", lists(3, 1), START + HOUR)
    live.put("a/4", lists(3, 2), END)
    live.run(START + 2 * HOUR)
    live.run(END + HOUR)

    board = live.board()
    assert (board.shows_looks, [row.looks for row in board.rows]) == (True, [3])
    assert not live.board(SECOND_END).shows_looks


@holds(
    r"Scores are rounded before they are compared: preliminary scores over 5 queries to 1 decimal, final .*",
    r"Scores are rounded before they are compared: preliminary scores to the decimals that .* final .* 4 decimals\.",
)
def test_automatic_decimals(tmp_path: Path) -> None:
    """Of nine preliminary queries, 5/9 is shown as 0.6, and of ten final ones 8/10 as 0.8; ten preliminary ones
    have one decimal.
    """
    live = Live.of(tmp_path, ONE, flagged=9)
    live.choose_decimals('"auto"')
    live.run(ANNOUNCED)
    live.put("a/1", "".join(f"q{number}:{'a' if number < 5 else 'b'},c\n" for number in range(10)), START)
    live.run(START + HOUR)

    assert ranking(live.board()) == [(1, "a", 0.6)]
    final = live.board(END)
    assert ranking(final) == [(1, "a", 0.5)]
    assert [entry.preliminary for row in final.rows for entry in row.entries] == [(0.6,)]
    assert (final.track.preliminary_decimals, final.track.shown_decimals) == (1, 4)


@holds(r"The time of receipt of a file decides its phase: the time at the beginning of its name, or else .* change\.")
def test_the_name_states_the_time_of_receipt(tmp_path: Path) -> None:
    """It goes before the time of the last change, in both directions."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/20110418T100000Z-1", lists(1, 1), END)
    live.put("b/20110418T095959Z-1", lists(1, 1), START)
    live.put("c/1", lists(1, 1), START)
    live.run(END + DAY)

    assert {file[0]: state for file, state in live.states().items()} == {"a": "scored", "b": "early", "c": "scored"}


@holds(r"A time of receipt that is more than 5 minutes in the future, .* The entry does not count until .* time\.")
def test_an_impossible_time_does_not_count_until_it_is_corrected(tmp_path: Path) -> None:
    """In the future, or before the announcement; five minutes are tolerated."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    times = (ANNOUNCED - 5 * MINUTE - SECOND, ANNOUNCED - 5 * MINUTE, START + 5 * MINUTE, START + 5 * MINUTE + SECOND)
    for name, received in zip("abcd", times, strict=True):
        live.put(f"{name}/1", lists(1, 1), received)
    live.run(START)
    assert live.states() == {"a/1": "misdated", "b/1": "early", "c/1": "scored", "d/1": "misdated"}

    with live.store() as store:
        amend(live.challenge, store, "main/d/1", START, "the clock was wrong")
    assert live.states()["d/1"] == "scored"


@holds(
    r"A file that is deleted or replaced withdraws its entry when the next run finds it so\. Once the phase of an "
    r"entry has closed, no run withdraws it, and a withdrawn entry does not return\."
)
def test_a_deleted_file_withdraws_nothing_after_the_close(tmp_path: Path) -> None:
    """Before, it does."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    for name in "abc":
        live.put(f"{name}/1", lists(1, 1, name), START)
    live.run(START + HOUR)
    live.path("a/1").unlink()
    live.run(END - SECOND)
    live.path("b/1").unlink()
    live.put("a/1", lists(1, 1, "a"), START)
    live.put("c/1", lists(5, 5), END + HOUR)
    live.run(END + DAY)

    assert [(entry.team, entry.state) for entry in live.entries().all] == [
        ("a", "withdrawn"),
        ("b", "scored"),
        ("c", "scored"),
        ("c", "late"),
    ]


@holds(
    r"Final scores are not shown before .* UTC\.",
    r"The board is ranked by the preliminary P@1\. Final scores are not shown yet\.",
    r"The board is ranked by the final P@1\.",
    r"Preliminary scores are means over 5 of them, final scores over all 10\.",
)
def test_final_scores_are_shown_when_the_last_phase_has_closed(tmp_path: Path) -> None:
    """To the microsecond; they are means over all queries."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/1", lists(5, 0), START)
    live.put("b/1", lists(4, 5), START)
    live.run(START + HOUR)

    assert ranking(live.board(END - MICROSECOND)) == [(1, "a", 1.0), (2, "b", 0.8)]
    assert ranking(live.board(END)) == [(1, "b", 0.9), (2, "a", 0.5)]


@holds(
    r"The track has no preliminary queries, so the board shows scores over all queries from the beginning\.",
    r"Scores are means over the 10 queries of the solution\.",
    r"No entry has been scored yet\.",
)
def test_without_preliminary_queries_the_board_shows_scores_at_once(tmp_path: Path) -> None:
    """Over all queries."""
    live = Live.of(tmp_path, ONE, flagged=0)
    live.run(ANNOUNCED)
    assert "No entry has been scored yet." in rules(live.board())
    live.put("a/1", lists(5, 1), START)
    live.run(START + HOUR)

    assert ranking(live.board()) == [(1, "a", 0.6)]
    assert "No entry has been scored yet." not in rules(live.board())


@holds(r"Once a phase has started, its end changes only by an extension, which is recorded and shown with its reason\.")
def test_an_edited_end_is_refused_and_an_extension_is_shown(tmp_path: Path) -> None:
    """The board has the old end, the new end and the reason."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.configure(phase("one", START, END + DAY))
    with pytest.raises(ChallengeError, match="record a later end"):
        live.run(START)
    with live.store(START) as store:
        extend(live.challenge, store, None, "one", END + DAY, "the server was down")
    live.run(START + HOUR)

    (shown,) = live.board().phases.extensions
    assert (shown.before, shown.end, shown.reason) == (END, END + DAY, "the server was down")


@holds(
    r"Baselines have no phase and no quota\. The board lists them also before the first phase\.",
    r"Baselines are listed by their scores and have no rank\.",
)
def test_baselines_count_at_any_time_and_have_no_rank(tmp_path: Path) -> None:
    """Between the teams, by their scores."""
    live = Live.of(tmp_path, ONE, settings='baselines = ["popular"]\nquota = {total = 1}')
    live.put("popular/1", lists(1, 1), ANNOUNCED - DAY)
    live.put("popular/2", lists(4, 4), ANNOUNCED - DAY)
    live.run(ANNOUNCED)
    assert ranking(live.board()) == [(None, "popular", 0.8)]
    live.put("a/1", lists(5, 5), START)
    live.put("b/1", lists(1, 1, "b"), START)
    live.run(END + DAY)

    assert ranking(live.board()) == [(1, "a", 1.0), (None, "popular", 0.8), (2, "b", 0.2)]


# Quotas


@holds(
    r"A team has at most 2 scored entries a day \(a calendar day in the time zone UTC\)\.",
    r"A team has at most 1 scored entry in all\.",
    r"A team has at most 2 scored entries a day .*, 3 scored entries a phase and 4 scored entries in all\.",
    r"A team has at most 1 rejected file a day .*; when it has so many, .* are over the quota\.",
    r"An entry over the quota is kept and marked; it is not scored\.",
    r"The day of an entry is that of its time of receipt\. Entries are counted in the order .* within the quota\.",
)
def test_a_team_cannot_have_more_than_its_quota(tmp_path: Path) -> None:
    """A day, a phase, in all, and of rejected files; a rejected file before it lets the next one wait, and then in."""
    live = Live.of(tmp_path, ONE, TWO, settings="quota = {per_day = 2, per_phase = 3, total = 4, rejected_per_day = 1}")
    live.run(ANNOUNCED)
    first_day = [("a/1", 1), ("a/2", 2), ("a/3", 3)]
    for file, number in first_day:
        live.put(file, lists(number, number), START + number * MINUTE)
    for number, received in enumerate((START + DAY, START + DAY + HOUR), 4):
        live.put(f"a/{number}", lists(number, number), received)
    live.put("b/1", INVALID, START)
    live.put("b/2", lists(0, 2), START + MINUTE)
    live.put("b/3", lists(0, 3), START + DAY)
    second = START + 14 * DAY
    for number in (6, 7):
        live.put(f"a/{number}", lists(number % 5, 5, "x"), second + number * MINUTE)
    live.run(second + HOUR)

    assert live.states() == {
        "a/1": "scored",
        "a/2": "scored",
        "a/3": "over-quota",
        "a/4": "scored",
        "a/5": "over-quota",
        "a/6": "scored",
        "a/7": "over-quota",
        "b/1": "rejected",
        "b/2": "over-quota",
        "b/3": "scored",
    }
    assert live.entry("a/3").outcome == "waiting"


@holds(
    r"Withdrawn entries that were scored stay in the count\. Files that could not be scored .* do not count"
    r"(, nor do early and late entries)?\.",
)
def test_a_withdrawn_entry_stays_in_the_count_and_an_early_one_is_not_in_it(tmp_path: Path) -> None:
    """Failures: see `test_quotas`."""
    live = Live.of(tmp_path, ONE, settings="quota = {total = 1}")
    live.run(ANNOUNCED)
    live.put("a/0", lists(0, 0), START - SECOND)
    live.put("a/1", lists(1, 1), START)
    live.run(START + HOUR)
    live.path("a/1").unlink()
    live.put("a/2", lists(2, 2), START + HOUR)
    live.run(START + 2 * HOUR)

    assert live.states() == {"a/0": "early", "a/1": "withdrawn", "a/2": "over-quota"}


# Which entry counts


def three_entries(folder: Path, settings: str = "", *tables: str) -> Live:
    """A team with a good, a better and a bad entry, by their preliminary scores."""
    live = Live.of(folder, *(tables or (ONE,)), settings=settings)
    live.run(ANNOUNCED)
    for number, found in enumerate((3, 4, 1), 1):
        live.put(f"a/{number}", lists(found, 0), START + number * MINUTE)
    live.put("a/4", lists(4, 5), START + 4 * MINUTE)
    live.put("a/5", lists(2, 5), START + 5 * MINUTE)
    live.run(START + HOUR)
    return live


@holds(
    r"Of the entries of a team, the one with the best preliminary P@1 counts; of equal ones, the earliest\.",
    r"Of the entries of a team, the one with the best P@1 counts; of equal ones, the earliest\.",
)
def test_the_best_preliminary_score_decides(tmp_path: Path) -> None:
    """Also on the final board; the final score decides only without preliminary queries."""
    live = three_entries(tmp_path)
    assert ranking(live.board()) == [(1, "a", 0.8)]
    assert ranking(live.board(END)) == [(1, "a", 0.4)]

    other = Live.of(tmp_path / "other", ONE, flagged=0)
    other.run(ANNOUNCED)
    for number, found in enumerate((1, 3, 2)):
        other.put(f"a/{number}", lists(found, 0), START)
    other.run(START + HOUR)
    assert ranking(other.board()) == [(1, "a", 0.3)]


@holds(r"Of the entries of a team, the last scored one counts\.")
def test_the_last_scored_entry_decides(tmp_path: Path) -> None:
    """A rejected file after it does not."""
    live = three_entries(tmp_path, 'entry = "last"')
    live.put("a/9", INVALID, START + HOUR)
    live.run(START + 2 * HOUR)

    assert ranking(live.board()) == [(1, "a", 0.4)]


@holds(
    r"Of the entries that a team picks, the one with the best (preliminary )?P@1 counts; .* may count, .* counts\.",
    r"A team may pick up to 2 entries\. New picks replace earlier ones, and are accepted until .* has closed\.",
    r"A team may pick up to 2 entries\. New picks replace earlier ones, and are accepted at any time\.",
    r"A team picks with a file picks\.toml in its folder, which names the files\. The organiser can record picks too\. "
    r"Of merged teams, the picks of the team whose row has the entries count\.",
)
def test_the_best_pick_decides_until_the_last_phase_has_closed(tmp_path: Path) -> None:
    """By the file or the command, at most two; if the picked one is withdrawn, the best entry counts."""
    live = three_entries(tmp_path, 'entry = "picks"')
    assert ranking(live.board()) == [(1, "a", 0.8)]
    live.put("a/picks.toml", 'picks = ["1", "3"]', START + HOUR)
    live.run(START + 2 * HOUR)
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
        store.record_teams({"a": {"merged_into": "b"}}, {})
    assert ranking(live.board()) == [(1, "b", 0.2)]


@holds(r"Rejected, replaced(, withdrawn, early and late| and withdrawn) entries never count, nor do .* not confirmed\.")
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


# Errata and teams


@holds(r"Once the first phase has started, the solution and the rules of scoring change only by an erratum: .*")
def test_a_changed_solution_needs_an_erratum(tmp_path: Path) -> None:
    """It scores all entries again; before and after are compared."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/1", lists(3, 1), START)
    live.run(START + HOUR)
    live.write_solution(solution().replace("q0:1:a|1", "q0:1:z|1"))
    live.run(START + 2 * HOUR)
    assert ranking(live.board()) == [(1, "a", 0.6)]
    live.now = START + 3 * HOUR
    with live.store() as store:
        preview(live.challenge, store, live.track, executor_named("serial"))
        erratum, changes = apply(live.challenge, store, live.track, "q0 was wrong", executor_named("serial"))

    assert ranking(live.board()) == [(1, "a", 0.4)]
    assert erratum.reason == "q0 was wrong"
    assert [(each.before.score, each.after.score) for each in changes.teams] == [(0.6, 0.4)]


@holds(
    r"A team that is disqualified or withdraws stays on the board without a rank; the teams below it move up\.",
    r"Teams may merge: from then on their entries count together, also for the quota; earlier entries stay .*",
)
def test_excluded_and_merged_teams(tmp_path: Path) -> None:
    """The best team is disqualified; two others merge, and share the quota."""
    live = Live.of(tmp_path, ONE, settings="quota = {total = 2}")
    live.run(ANNOUNCED)
    for number, name in enumerate("abcd"):
        live.put(f"{name}/1", lists(4 - number, 0), START)
    live.run(START + HOUR)
    with live.store() as store:
        store.record_teams({"a": {"disqualified": "two accounts"}, "d": {"merged_into": "b"}}, {"d": "one team"})
    live.put("d/2", lists(5, 5), START + HOUR)
    live.run(START + 2 * HOUR)

    assert ranking(live.board()) == [(1, "b", 0.6), (2, "c", 0.4), (None, "a", 0.8)]
    assert (live.states()["d/1"], live.states()["d/2"]) == ("scored", "over-quota")


# Scores


def one_entry(folder: Path, content: str, settings: str = "", graded: str = "q0:0:a|2,b|1\nq1:0:a|1\n") -> Live:
    """A track without preliminary queries and an entry with this content."""
    live = Live.of(folder, ONE, settings=settings)
    live.write_solution(graded)
    live.run(ANNOUNCED)
    live.put("a/1", content, START)
    live.run(START + HOUR)
    return live


@holds(
    r"A query without a list scores 0\.",
    r"A file without a list for every query is rejected\.",
    r"Queries that are not in the solution are ignored\.",
    r"Only the first 2 items of a list count\.",
    r"An item that is listed twice counts once, at its first rank\.",
)
@pytest.mark.parametrize(
    ("content", "settings", "score"),
    [
        ("q0:a,c\n", "", 0.5),
        ("q0:a,c\n", 'missing = "reject"', None),
        ("q0:a,c\nq1:a,c\nq9:a,c\n", 'missing = "reject"', 1.0),
        ("q0:c,d,a\nq1:c,d,a\n", "", 0.0),
        ("q0:c,a,a\nq1:c,a,a\n", 'measures = ["P@2"]', 0.0),
    ],
)
def test_what_a_list_counts(tmp_path: Path, content: str, settings: str, score: float | None) -> None:
    """Missing, unknown and repeated ones."""
    live = one_entry(tmp_path, content, settings)

    assert ranking(live.board())[0][2] == score
    if "measures" in settings:
        assert live.board().rows[0].entries[0].final[1] == 0.5


TIED = '{"q0": {"a": 1, "b": 1, "c": 1}, "q1": {"a": 1, "z": 0}}'


@holds(
    r"Items with equal run scores are ordered by item id, descending, as in trec_eval\.",
    r"Items with equal run scores are ordered as listed in the file\.",
    r"Items with equal run scores are not ordered: a score is the mean over all orders\.",
    r"Items with equal run scores are ordered with the highest grade first\.",
    r"Items with equal run scores are ordered with the highest grade last\.",
)
@pytest.mark.parametrize(
    ("ties", "score"), [("trec", 0.5), ("order", 1.0), ("expected", 0.833), ("best", 1.0), ("worst", 0.5)]
)
def test_the_rule_for_ties(tmp_path: Path, ties: str, score: float) -> None:
    """Two of three tied items are relevant."""
    assert ranking(one_entry(tmp_path, TIED, f'ties = "{ties}"').board()) == [(1, "a", score)]


@holds(
    r"Scores are rounded to 3 decimals before they are compared\.",
    r"Teams with equal scores share a rank, as in 1, 1, 3\.",
    r"Of teams with equal scores, the one with the earlier entry ranks higher\.",
)
@pytest.mark.parametrize(("equal_ranks", "expected"), [("shared", [1, 1, 3]), ("earlier", [1, 2, 3])])
def test_equal_scores(tmp_path: Path, equal_ranks: str, expected: list[int]) -> None:
    """Scores that differ in the fourth decimal are equal, and the one that was recorded first is listed first."""
    live = Live.of(tmp_path, ONE, settings=f'equal_ranks = "{equal_ranks}"')
    queries = 3000
    live.write_solution("".join(f"q{number}:0:a|1\n" for number in range(queries)))
    live.run(ANNOUNCED)
    for minute, (name, found) in enumerate((("a", 1500), ("b", 1501), ("c", 300))):
        lines = (f"q{number}:{'a' if number < found else 'b'},{name}x\n" for number in range(queries))
        live.put(f"{name}/1", "".join(lines), START + minute * MINUTE)
    live.run(START + HOUR)

    assert [(rank, name) for rank, name, _ in ranking(live.board())] == list(zip(expected, "abc", strict=True))


@holds(
    r"Scores are means over the queries for which they are defined: 10 of the 11 queries of the solution for P@1\.",
    r"Preliminary scores are means over 5 of them, final scores over the other 5\.",
)
def test_what_final_scores_are_means_over(tmp_path: Path) -> None:
    """A query without a relevant item is left out; with final = "rest", so are the preliminary ones."""
    live = Live.of(tmp_path, ONE, settings='final = "rest"')
    live.write_solution(solution() + "q99:0:\n")
    live.run(ANNOUNCED)
    live.put("a/1", lists(5, 2), START)
    live.run(START + HOUR)

    assert ranking(live.board(END)) == [(1, "a", 0.4)]


@holds(r"The solution flags no queries for preliminary scores, so there are no scores to show\.")
def test_a_preliminary_stage_without_preliminary_queries_is_refused(tmp_path: Path) -> None:
    """The sentence is for a board of an earlier version."""
    live = Live.of(tmp_path, settings='stage = "preliminary"', flagged=0)
    with pytest.raises(ChallengeError, match="there are no preliminary scores to show"):
        live.run(ANNOUNCED)
