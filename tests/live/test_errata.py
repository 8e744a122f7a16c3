"""Errata: a changed solution or rule moves the board as a whole, and only when it is applied."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from scorer.errors import ChallengeError
from scorer.live.entry import key_of, recorded
from scorer.live.errata import Placing, folded_errata
from scorer.organising.picks import forget_outcome
from scorer.organising.render import boards
from scorer.organising.run import carry_out, plan
from scorer.scoring.executors import GoOn, always
from scorer.scoring.executors.base import FileOutcomes, FileToScore, Scoring, Serial
from scorer.settings.tracks import Challenge
from scorer.store.schema import event_table
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.commands import Terminal
from tests.databases import changed, seal
from tests.live_challenges import (
    BEFORE,
    CORRECTED,
    GOOD,
    OTHER,
    PHASES,
    POOR,
    SOLUTION,
    Live,
    day,
    ranks,
    ranks_after_run,
)
from tests.strategies import rest


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge in its first phase: amber leads, birch follows, and cedar is last."""
    return started(Live.graded(tmp_path / "live"))


def started(live: Live) -> Live:
    """The challenge in its first phase, with three entries that are scored."""
    live.run(BEFORE)
    for hour, (team, lists) in enumerate((("amber", GOOD), ("birch", OTHER), ("cedar", POOR))):
        live.put(f"{team}/1.txt", lists, day(10, hour))
    live.run(day(10))
    return live


def leaders(live: Live, number: int) -> list[str]:
    """The teams on the board on a day of January, in order."""
    return list(ranks(live.board(day(number))))


def test_a_preview_shows_the_difference_and_leaves_the_board(live: Live) -> None:
    """Only the event of the preview is recorded."""
    before, events = ranks(live.board(day(11))), live.events()
    live.write_solution(CORRECTED)

    found = live.preview(day(11))

    assert [(each.team.folder, each.before.rank, each.after.rank) for each in found.teams] == [
        ("birch", 2, 1),
        ("amber", 1, 2),
        ("cedar", 3, 3),
    ]
    assert found.teams[0].after.score == found.teams[1].before.score == 1.0
    assert found.summary == "Of 3 teams, 2 have another score and 2 another rank."
    assert ranks_after_run(live, day(11)) == before
    assert [event.kind for event in live.events()[len(events) :]] == ["preview"]


def test_an_erratum_that_the_earlier_version_previewed_is_applied(live: Live) -> None:
    """In version 1 of the log, a preview has the kind of an erratum."""
    live.write_solution(CORRECTED)
    live.preview(day(11))
    place = str(live.challenge.database_address)
    changed(place, "UPDATE event SET log = NULL, kind = replace(kind, 'preview', 'erratum')")
    seal(place, event_table)

    assert live.apply(day(12))[0].number == 1
    assert [(event.kind, event.values.get("state"), event.log) for event in live.events()[-4:]] == [
        ("erratum", "previewed", None),
        ("log", None, 2),
        ("erratum", "applied", 2),
        ("basis", None, 2),
    ]


def test_preview_and_apply_are_refused_until_there_is_something_to_see(live: Live) -> None:
    """A change, a preview, and a reason for visitors; nothing is recorded."""
    with pytest.raises(ChallengeError, match="are those in force; change a file first"):
        live.preview(day(11))

    live.write_solution(CORRECTED)
    events = live.events()

    with pytest.raises(ChallengeError, match="no erratum is open"):
        live.apply(day(12))
    assert live.events() == events

    live.preview(day(11))
    for reason in ("", "  \n"):
        with pytest.raises(ChallengeError, match="the reason is blank"):
            live.apply(day(12), reason)


def test_a_preview_needs_a_phase_that_has_started(tmp_path: Path) -> None:
    """Before, runs use the files as they are."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    live.write_solution(CORRECTED)

    with pytest.raises(ChallengeError, match="no phase has started"):
        live.preview(BEFORE)


def test_the_same_preview_again_records_nothing(live: Live) -> None:
    """A changed file replaces the preview."""
    live.write_solution(CORRECTED)
    live.preview(day(11))
    live.preview(day(12))
    assert len(live.events("preview")) == 1

    live.write_solution(SOLUTION.replace("d|2", "d|3"))
    assert live.preview(day(13)).teams[0].team.folder == "amber"
    assert [(event.values["number"], event.values["state"]) for event in live.events("preview")] == [
        (1, "previewed"),
        (1, "previewed"),
    ]


@pytest.mark.holds(
    r"Once the first phase has started, the solution and the rules of scoring change only by an erratum: .*"
)
def test_apply_moves_the_board_and_publishes_the_reason(live: Live) -> None:
    """The record has the erratum, and next to it the basis."""
    live.write_solution(CORRECTED)
    previewed = live.preview(day(11))

    erratum, applied = live.apply(day(12), "  two grades were swapped ")

    assert (erratum.number, erratum.reason, erratum.at) == (1, "two grades were swapped", day(12))
    assert applied == previewed
    assert leaders(live, 12) == ["birch", "amber", "cedar"]
    last = live.events()[-2:]
    assert [(event.kind, event.at) for event in last] == [("erratum", day(12)), ("basis", day(12))]
    assert last[0].values["basis"] == last[1].values
    assert leaders(live, 13) == list(ranks_after_run(live, day(13)))
    assert live.events()[-1].index == last[1].index


def test_a_snapshot_shows_the_old_or_the_new_board_as_a_whole(live: Live) -> None:
    """A page that is rendered while the erratum is applied is not a mixture."""
    live.write_solution(CORRECTED)
    live.preview(day(11))

    def during(challenge: Challenge, store: Store) -> None:
        def read(view: Snapshot) -> list[list[str]]:
            first = ranks(boards(view, challenge.tracks)[0])
            live.apply(day(12))
            return [list(first), list(ranks(boards(view, challenge.tracks)[0]))]

        assert store.read(read) == [["amber", "birch", "cedar"]] * 2

    live.do(day(12), during)
    assert leaders(live, 12)[0] == "birch"


def test_entries_that_arrive_during_the_preview_get_both_results(live: Live) -> None:
    """They are ranked by the old rules at first, and by the new ones once these apply."""
    live.write_solution(CORRECTED)
    live.preview(day(11))
    live.put("delta/1.txt", OTHER, day(12, 1))
    before = ranks_after_run(live, day(12))

    def known(_: Challenge, store: Store) -> bool:
        erratum = store.read(lambda view: folded_errata(view.events("main")).open)
        assert erratum is not None
        known = store.read(lambda view: view.known_digests(erratum.basis.basis))
        return {digest for _, digest in store.read(partial(recorded, track="main"))} <= known

    assert live.do(day(12), known)
    _, applied = live.apply(day(13))

    assert before["delta"] == before["birch"]
    assert ranks(live.board(day(13)))["delta"] == (1, 1.0)
    assert next(each for each in applied.teams if each.team.folder == "delta").before == Placing(*before["delta"])


def test_apply_scores_what_arrived_without_a_run(live: Live) -> None:
    """The tables have all entries."""
    live.write_solution(CORRECTED)
    live.preview(day(11))
    live.put("delta/1.txt", OTHER, day(12, 1))

    _, applied = live.apply(day(13))

    assert {each.team.folder for each in applied.teams} == {"amber", "birch", "cedar", "delta"}


@pytest.mark.parametrize("text", [SOLUTION, CORRECTED.replace("d|2", "d|3")])
def test_apply_is_refused_if_the_file_changed_after_the_preview(live: Live, text: str) -> None:
    """The organiser has not seen what it would do."""
    live.write_solution(CORRECTED)
    live.preview(day(11))
    live.write_solution(text)

    with pytest.raises(ChallengeError, match="solution changed since the preview; preview again"):
        live.apply(day(12))
    assert leaders(live, 12)[0] == "amber"


LOST = f"{GOOD}q9:a\n"
"""The lists of the entry that `preview_without_a_file` deletes."""


def preview_without_a_file(live: Live) -> None:
    """Preview an erratum when the file of an entry of team delta, whose phase has closed, is deleted, and its bytes are
    not kept.
    """
    live.edit('name = "Live"\n', 'name = "Live"\nkeep_submissions = false\n')
    file = live.put("delta/1.txt", LOST, day(19, 1))
    live.run(day(19, 2))
    file.unlink()
    live.run(day(26))
    live.write_solution(CORRECTED)
    live.preview(day(26))


def test_apply_is_refused_while_an_entry_cannot_be_scored(live: Live) -> None:
    """The file of an entry whose phase has closed was deleted: the entry stays, but has no result by the new rules."""
    preview_without_a_file(live)

    with pytest.raises(ChallengeError, match=r"1 entry cannot be scored by the new rules, such as main/delta/1\.txt"):
        live.apply(day(27))
    assert leaders(live, 27)[0] == "amber"

    live.put("delta/1.txt", LOST, day(19, 1))
    assert live.apply(day(28))[0].number == 1


def test_an_entry_without_a_file_may_be_left_unscored(live: Live) -> None:
    """Its team cannot block the erratum by deleting it; it has no score until the file is restored."""
    preview_without_a_file(live)

    assert live.apply(day(27), without_missing=True)[0].number == 1
    assert ranks(live.board(day(27)))["delta"] == (None, None)

    live.put("delta/1.txt", LOST, day(19, 1))
    live.run(day(28))
    assert ranks(live.board(day(28)))["delta"] == ranks(live.board(day(28)))["amber"]


def test_a_cancelled_erratum_leaves_everything_as_it_was(live: Live) -> None:
    """The next one has its number."""
    live.write_solution(CORRECTED)
    live.preview(day(11))

    assert (live.cancel(day(12)).number, leaders(live, 12)[0]) == (1, "amber")
    with pytest.raises(ChallengeError, match="no erratum is open"):
        live.cancel(day(12))
    with pytest.raises(ChallengeError, match="no erratum is open"):
        live.apply(day(12))

    live.preview(day(13))
    assert live.apply(day(13))[0].number == 1


def test_errata_are_numbered(live: Live) -> None:
    """In the order in which they are applied; a solution that returns is an erratum, too."""
    for number, text in enumerate((CORRECTED, SOLUTION), 1):
        live.write_solution(text)
        live.preview(day(11 + number))
        assert live.apply(day(11 + number), f"reason {number}")[0].number == number

    assert [(each.number, each.reason) for each in folded_errata(live.events()).applied] == [
        (1, "reason 1"),
        (2, "reason 2"),
    ]
    assert leaders(live, 14)[0] == "amber"


def test_changed_decimals_are_an_erratum(live: Live) -> None:
    """Nothing is scored again; each board has its own decimals."""
    live.edit('primary = "nDCG@3"', 'primary = "nDCG@3"\ndecimals = 1')
    before = ranks_after_run(live, day(11))

    found = live.preview(day(11))
    live.apply(day(12))

    assert (found.before.decimals, found.after.decimals) == (4, 1)
    assert ranks(live.board(day(12))) == {team: (rank, round(score or 0, 1)) for team, (rank, score) in before.items()}


def test_a_changed_quota_is_an_erratum(tmp_path: Path) -> None:
    """Entries that were over it are scored, and count."""
    live = started(Live.graded(tmp_path / "live", rules="quota = {per_day = 1}\n"))
    live.put("cedar/2.txt", GOOD, day(10, 5))
    assert ranks_after_run(live, day(11))["cedar"][0] == 3
    live.edit("per_day = 1", "per_day = 2")
    assert ranks_after_run(live, day(11))["cedar"][0] == 3

    live.preview(day(11))
    live.apply(day(12))

    assert ranks(live.board(day(12)))["cedar"] == (1, 1.0)


def test_entries_whose_files_were_replaced_stay_in_the_quota(tmp_path: Path) -> None:
    """They cannot be scored by the new rules, but their places are used."""
    live = Live.graded(tmp_path / "live", rules="quota = {per_day = 2}\n")
    live.run(BEFORE)
    for hour, lists in enumerate((POOR, OTHER, GOOD)):
        live.put("amber/1.txt", lists, day(10, hour))
        live.run(day(10, hour, 30))
    states = [each.state for each in live.board(day(11)).rows[0].entries]
    assert states == ["over-quota", "superseded", "superseded"]

    live.write_solution(CORRECTED)
    live.preview(day(11))
    live.apply(day(12))

    assert [each.state for each in live.board(day(12)).rows[0].entries] == states


def test_a_changed_list_of_items_is_an_erratum(tmp_path: Path) -> None:
    """Its bytes are a rule."""
    live = Live.graded(tmp_path / "live", rules='items = "items.txt"\n')
    items = tmp_path / "live" / "items.txt"
    items.write_text("".join(f"{item}\n" for item in "abcdefgx"))
    started(live)
    items.write_text("".join(f"{item}\n" for item in "abcdefgxyz"))
    live.run(day(11))
    assert len(live.events("basis")) == 1

    live.preview(day(11))
    live.apply(day(12))

    bases = live.events("basis")
    assert len({event.values["items"] for event in bases}) == len(bases) == 2


def test_an_erratum_concerns_one_track(tmp_path: Path) -> None:
    """The other one keeps its board, also if both have the same solution."""
    live = Live.graded(tmp_path / "live", tracks=("main", "other"))
    live.chosen = "other"
    for hour, (team, lists) in enumerate((("amber", GOOD), ("birch", OTHER))):
        live.put(f"{team}/1.txt", lists, day(10, hour))
    live.chosen = "main"
    started(live)
    live.write_solution(CORRECTED)

    live.preview(day(11))
    live.apply(day(12))

    live.run(day(12))
    assert leaders(live, 12)[0] == "birch"
    live.chosen = "other"
    assert leaders(live, 12)[0] == "amber"


@dataclass
class Counting:
    """Counts the files that are scored."""

    files: int = 0

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        for each in Serial().results(scoring, files, go_on):
            self.files += 1
            yield each


def test_every_entry_is_scored_once_for_an_erratum(tmp_path: Path) -> None:
    """Neither apply nor later runs score anything again."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    for number in range(40):
        live.put(f"team-{number}/1.txt", f"{GOOD}q{number + 9}:a\n", day(10, 1, number))
    live.run(day(10))
    live.executor = counting = Counting()
    live.write_solution(CORRECTED)

    live.preview(day(11))
    live.apply(day(12))
    live.run(day(13))

    assert counting.files == 40


def test_a_run_that_was_planned_before_an_erratum_does_not_undo_it(live: Live) -> None:
    """It scores by the old rules, and the board stays by the new ones."""
    live.put("delta/1.txt", GOOD, day(11, 1))

    def overtaken(challenge: Challenge, store: Store) -> None:
        work = plan(store, challenge, challenge.tracks[0])
        live.write_solution(CORRECTED)
        live.preview(day(12))
        live.apply(day(12))
        for _ in carry_out(store, work, Serial()):
            pass

    live.do(day(11), overtaken)

    assert (
        live.events("erratum", "basis")[-1].values["solution"] == live.events("erratum")[-1].values["basis"]["solution"]
    )
    assert leaders(live, 13)[0] == "birch"


def test_a_preview_shows_scores_while_the_board_shows_none(tmp_path: Path) -> None:
    """The organiser sees them; what is published has none, also later."""
    live = started(Live.graded(tmp_path / "live", phases=PHASES.replace('freeze = "24h"', 'shows = "nothing"')))
    live.write_solution(CORRECTED)

    assert live.preview(day(11)).teams[0].after == Placing(1, 1.0)
    assert live.apply(day(12))[1].teams[0].after == Placing(1, 1.0)

    (erratum,) = live.timeline(day(26)).errata["main"]
    assert erratum.changes.are_hidden
    assert {each.after for each in erratum.changes.teams} == {Placing(None, None)}


@pytest.mark.parametrize(
    "how", ['shows = "nothing"', *rest(['shows = "own"', 'shows = "ladder"\nladder_step = 0.1', ""])]
)
def test_a_preview_shows_the_final_scores_that_visitors_do_not_see(live: Live, tmp_path: Path, how: str) -> None:
    """A changed grade of a query that is not preliminary moves them, and nothing that is published before the end."""
    if how:
        live = started(Live.graded(tmp_path / "other", phases=PHASES.replace('freeze = "24h"', how)))
    live.edit("list_length = 3", "list_length = 2")
    live.write_solution(SOLUTION.replace("f|2,g|1", "f|1,g|9"))

    found = live.preview(day(11))
    assert "ladder" in how or not any(each.moves for each in found.teams)
    assert found.final is not None
    assert (found.before.stage, found.final.before.stage) == ("preliminary", "final")
    assert [(each.team.folder, each.before.rank, each.after.rank) for each in found.final.teams] == [
        ("birch", 2, 1),
        ("amber", 1, 2),
        ("cedar", 3, 3),
    ]
    digests = [
        hashlib.sha256(text.encode()).hexdigest()[:12]
        for text in (SOLUTION, (live.folder / "solutions" / "main.txt").read_text())
    ]
    assert found.rules == ("list_length: 3 before, 2 after", "solution: {} before, {} after".format(*digests))
    assert live.apply(day(12))[1] == found
    live.run(day(31))
    assert [*ranks(live.board(day(31)))] == [each.team.folder for each in found.final.teams]
    assert live.events("erratum")[-1].values["changes"].keys() == {"scales", "teams", "hidden"}


def test_the_published_tables_are_the_boards_before_and_after(live: Live) -> None:
    """Also when the results by the old rules are gone, and after the end, when final scores are public."""
    live.write_solution(CORRECTED)
    before = ranks(live.board(day(12)))
    live.preview(day(11))
    live.apply(day(12))
    after = ranks(live.board(day(12)))
    live.run(day(31))
    assert live.board(day(31)).track.shows_final

    def forget_all(_: Challenge, store: Store) -> None:
        for each in store.read(lambda view: recorded(view, "main").values()):
            forget_outcome(store, "main", key_of(each.submission), "damaged")

    live.do(day(31), forget_all)
    (erratum,) = live.timeline(day(31)).errata["main"]
    changes = erratum.changes

    assert (changes.before.stage, changes.after.stage) == ("preliminary", "preliminary")
    assert {each.team.folder: (each.before.rank, each.before.score) for each in changes.teams} == before
    assert {each.team.folder: (each.after.rank, each.after.score) for each in changes.teams} == after


def test_the_command_previews_applies_and_cancels(tmp_path: Path, terminal: Terminal) -> None:
    """It chooses the only track whose files differ from its rules."""
    always = PHASES.split("[[", 2)[1].replace("2027-01-10", "2020-01-10").replace("2027-01-20", "2999-01-20")
    live = Live.graded(tmp_path / "live", phases=f"[[{always}", tracks=("main", "other"))
    for team, lists in (("amber", GOOD), ("birch", OTHER)):
        (live.folder / "submissions" / "main" / f"{team}.txt").write_text(lists)
    assert terminal.run("run", live.folder).code == 0
    assert "no track has an open erratum" in terminal.run("erratum", "preview", "--challenge", live.folder).err
    live.edit('primary = "nDCG@3"', 'primary = "nDCG@3"\ndecimals = 2')
    live.edit("[tracks.other]", "[tracks.other]  # the same")
    live.write_solution(CORRECTED)

    before = terminal.run("status", live.folder)
    assert "main, other have an erratum" in terminal.run("erratum", "preview", "--challenge", live.folder).err
    preview = terminal.run("erratum", "preview", "--challenge", live.folder, "--track", "main")
    cancelled = terminal.run("erratum", "cancel", "--challenge", live.folder, "--track", "main")
    terminal.run("erratum", "preview", "--challenge", live.folder, "--track", "main")
    during = terminal.run("status", live.folder)
    unreasoned = terminal.run("erratum", "apply", "--challenge", live.folder, "--track", "main")
    applied = terminal.run("erratum", "apply", "--challenge", live.folder, "--track", "main", "--reason", "swapped")
    after = terminal.run("status", live.folder)

    assert preview.out.startswith("decimals: 4 before, 2 after\nsolution: ")
    differs = preview.out.splitlines()[:2]
    assert applied.out.splitlines()[:2] == differs
    listed = [f"main: {each}\n" for each in differs]
    assert all("".join(listed) in status.out for status in (before, during))
    assert not any(each in after.out for each in listed)
    lines = [line.split() for line in preview.out.splitlines()[2:]]
    assert lines[0] == ["team", "rank", "before", "rank", "after", "nDCG@3", "before", "nDCG@3", "after"]
    assert lines[1][:3] == ["birch", "2", "1"]
    assert len(lines[1][3]) == len("0.1234")
    assert lines[1][4] == "1.00"
    assert cancelled.out == "main: erratum 1 is cancelled\n"
    assert (unreasoned.code, "apply needs --reason" in unreasoned.err) == (2, True)
    assert "main: erratum 1 is applied; `scorer run` shows it" in applied.out
