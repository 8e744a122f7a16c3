"""The status of a track with phases: where it is in them, until when, and what the board shows meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from scorer.board.board import Board
from scorer.challenge.phases import Phase
from scorer.wording import counted, exact_time, iso_time


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a track. It is the same whenever it is rendered, until the state changes."""

    phase: Markup
    """The phase, its state, and until when it lasts; HTML."""
    scores: Markup
    """Which scores the board shows, and since when or until when; HTML."""
    received: str
    """How many entries of teams were received: ``12 entries of 4 teams``."""
    frozen: Markup
    """That the board is frozen, and until when; HTML, empty if it is not."""
    open: Phase | None
    """The phase that is open; None while none is."""


def status(board: Board) -> Status | None:
    """The status of a track as of its board; None for a track without phases."""
    if not board.phases.all:
        return None
    return Status(_phase(board), _scores(board), _received(board), _frozen(board), _open(board))


def moment(when: datetime) -> Markup:
    """A time as HTML, as in ``8 July 2027, 12:00 UTC``."""
    return Markup('<time datetime="{}">{}</time>').format(iso_time(when), exact_time(when))


def _until(when: datetime) -> Markup:
    """A time to come as HTML, with a place for how far it is; a script fills it in."""
    return Markup('{}<span class="left" data-until="{}"></span>').format(moment(when), iso_time(when))


def _phase(board: Board) -> Markup:
    plan = board.phases
    phase = plan.shown_phase(board.now) or plan.all[0]
    state = plan.state(board.now)
    if state == "open":
        return Markup("<b>Phase {} is open</b> until {}").format(phase.name, _until(phase.end))
    if state == "in its grace":
        return Markup("<b>Phase {} is in its grace</b>: it ended {} and receives entries until {}").format(
            phase.name, moment(phase.end), _until(phase.closes)
        )
    if state == "over":
        return Markup("<b>The track is over</b>: phase {} closed {}").format(phase.name, moment(phase.closes))
    lead = "Between phases" if state == "between phases" else "Not started"
    return Markup("<b>{}</b>: phase {} starts {}").format(lead, phase.name, _until(phase.start))


def _open(board: Board) -> Phase | None:
    return board.phases.current(board.now) if board.phases.state(board.now) == "open" else None


def _scores(board: Board) -> Markup:
    plan = board.phases
    phase, end = plan.current(board.now), plan.all[-1].closes
    sentences = []
    if board.track.hides_scores and phase is not None:
        hidden = Markup("<b>No scores</b> are shown until the phase has closed, {}; the board lists the teams.")
        sentences.append(hidden.format(moment(phase.closes)))
    elif board.lacks_preliminary and not plan.is_over(board.now):
        sentences.append(Markup("<b>Scores over all queries</b>: the track has no preliminary queries."))
    elif board.track.has_ladder:
        sentences.append(Markup("<b>Preliminary scores by the Ladder</b>: only clear improvements are shown."))
    else:
        sentences.append(Markup("<b>{} scores.</b>").format(board.track.shown_stage.capitalize()))
    if board.track.stage == "preliminary" and (phase is None or phase.shows != "nothing" or phase.closes != end):
        sentences.append(Markup("Final scores are not shown before {}.").format(moment(end)))
    return Markup(" ").join(sentences)


def _received(board: Board) -> str:
    teams = [row for row in board.rows if not row.baseline]
    entries = sum(len(row.present_entries) for row in teams)
    if not entries:
        return "No entries yet"
    return f"{counted(entries, 'entry', 'entries')} of {counted(len(teams), 'team')}"


def _frozen(board: Board) -> Markup:
    phase = board.phases.current(board.now)
    if phase is None or board.frozen_since is None:
        return Markup()
    return Markup(
        "<b>The board is frozen since {}.</b> It shows the record as of then; what is recorded later appears once the "
        "phase has closed, {}."
    ).format(moment(board.frozen_since), moment(phase.closes))


def without_scores(board: Board) -> str:
    """Why the board of a track with phases has no scores now, in one sentence; empty if nothing hides them."""
    plan = board.phases
    if not plan.all:
        return ""
    if board.track.hides_scores and (phase := plan.current(board.now)) is not None:
        return f"Scores are not shown until phase {phase.name} has closed, {exact_time(phase.closes)}."
    phase = plan.upcoming(board.now)
    if phase is not None and plan.state(board.now) == "not started":
        return f"No scores yet: phase {phase.name} starts {exact_time(phase.start)}."
    if board.rows:
        return ""
    if board.frozen_since is not None:
        return "No entries were recorded before the board was frozen."
    return "No entries were received." if plan.is_over(board.now) else "No entries yet."
