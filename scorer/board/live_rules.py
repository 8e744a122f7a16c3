"""The rules of a live challenge in sentences: times, quotas, which entry counts, teams, errata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from scorer.challenge.phases import UNITS, Phase, in_exact_unit
from scorer.challenge.settings import Track
from scorer.challenge.splits import share_text
from scorer.entries.schedule import Schedule
from scorer.wording import counted, joined, utc_moment


def phase_rules(plan: Schedule, track: Track, *, has_preliminary: bool) -> tuple[str, ...]:
    """The rules on times: the phases, their grace and freezes, and what becomes of early and late entries.

    Parameters
    ----------
    plan
        The phases; without any, there is no rule.
    track
        The track.
    has_preliminary
        Whether the track has preliminary queries.
    """
    return tuple(_phase_rules(plan, track, has_preliminary)) if plan.phases else ()


def _phase_rules(plan: Schedule, track: Track, has_preliminary: bool) -> Iterator[str]:
    for position, phase in enumerate(plan.phases):
        yield _phase_rule(phase)
        if phase.frozen_from is not None:
            yield (
                f"From {utc_moment(phase.frozen_from)} until {utc_moment(phase.closes)} the board is frozen: it shows "
                "the record as it was before. What is recorded later, also of files that were received before, appears "
                "when the phase has closed."
            )
        if phase.shows == "ladder":
            step = "" if phase.ladder_step is None else f", with a step of {share_text(phase.ladder_step)}"
            spans = " and ".join(_ladder_spans(plan.phases, position))
            yield f"From {spans}, the Ladder decides which preliminary scores the board shows{step}."
        if phase.shows == "nothing":
            yield (
                f"From the start of the phase {phase.name} until it has closed, at {utc_moment(phase.closes)}, the "
                "board lists the teams without scores and ranks."
            )
    yield (
        "The time of receipt of a file decides its phase: the time at the beginning of its name, or else that of its "
        "last change."
    )
    yield (
        "A phase closes at its end, or at the end of its grace if it has one. What is received at the exact moment of "
        "its start is in the phase; what is received at the exact moment at which it closes is not."
    )
    late_board = " They are listed on a late board after the last phase." if track.late_board else ""
    yield (
        "An entry that is received before the first phase is early; one that is received after a phase has closed and "
        f"before the next one starts is late. Early and late entries are scored and are never ranked.{late_board}"
    )
    yield (
        "A time of receipt that is more than 5 minutes in the future, or more than 5 minutes before the phases were "
        "announced, is not accepted. The entry does not count until the organiser corrects the time."
    )
    yield (
        "A file that is deleted or replaced withdraws its entry when the next run finds it so. Once the phase of an "
        "entry has closed, no run withdraws it, and a withdrawn entry does not return."
    )
    yield (
        f"Final scores are not shown before {utc_moment(plan.phases[-1].closes)}."
        if has_preliminary
        else "The track has no preliminary queries, so the board shows scores over all queries from the beginning."
    )
    yield "Once a phase has started, its end changes only by an extension, which is recorded and shown with its reason."
    if track.baselines:
        yield "Baselines have no phase and no quota. The board lists them also before the first phase."


def _ladder_spans(phases: Sequence[Phase], position: int) -> Iterator[str]:
    """When the Ladder of a phase decides, see `Schedule.deciding_between`: also after phases that show nothing."""
    start = f"the start of the phase {phases[position].name}"
    if all(phase.shows == "nothing" for phase in phases[:position]):
        start = f"the close of the phase {phases[position - 1].name}" if position else "the beginning"
    for following in phases[position + 1 :]:
        yield f"{start} until the phase {following.name} starts"
        if following.shows != "nothing":
            return
        start = f"from the close of the phase {following.name}"
    if phases[-1].shows != "nothing":
        yield f"{start} until final scores are shown"


def _phase_rule(phase: Phase) -> str:
    times = f"The phase {phase.name} receives entries from {utc_moment(phase.start)} until {utc_moment(phase.end)}"
    if not phase.grace:
        return f"{times}."
    grace = _duration(phase.grace)
    return f"{times}; what is received up to {grace} later, before {utc_moment(phase.closes)}, still counts."


def quota_rules(track: Track) -> tuple[str, ...]:
    """The rules on the number of entries; none without a quota."""
    quota = track.quota
    if not quota.limits_anything:
        return ()
    day = f"a day (a calendar day in the time zone {quota.zone})"
    limits = ((quota.per_day, day), (quota.per_phase, "a phase"), (quota.total, "in all"))
    stated = [f"{counted(limit, 'scored entry', 'scored entries')} {per}" for limit, per in limits if limit is not None]
    sentences = [f"A team has at most {joined(stated)}."] if stated else []
    if quota.rejected_per_day is not None:
        sentences.append(
            f"A team has at most {counted(quota.rejected_per_day, 'rejected file')} {day}; when it has so many, its "
            "later files of the day are over the quota."
        )
    return (
        *sentences,
        "An entry over the quota is kept and marked; it is not scored.",
        "Withdrawn entries that were scored stay in the count. Files that could not be scored for a reason of the "
        f"organiser do not count{', nor do early and late entries' if track.phases else ''}.",
        "The day of an entry is that of its time of receipt. Entries are counted in the order in which they were "
        "recorded; an entry waits while the outcome of an earlier one decides whether it is within the quota.",
    )


def entry_rules(track: Track) -> tuple[str, ...]:
    """The rules on picks; none where the track has none."""
    if track.entry != "picks":
        return ()
    until = "until the last phase has closed" if track.phases else "at any time"
    return (
        f"A team may pick up to {counted(track.picks, 'entry', 'entries')}. New picks replace earlier ones, and are "
        f"accepted {until}.",
        "A team picks with a file picks.toml in its folder, which names the files. The organiser can record picks too. "
        "Of merged teams, the picks of the team whose row has the entries count.",
    )


def erratum_rules(plan: Schedule) -> tuple[str, ...]:
    """The rule on changes of the solution and of the rules of scoring; none without phases."""
    if not plan.phases:
        return ()
    return (
        "Once the first phase has started, the solution and the rules of scoring change only by an erratum: all "
        "entries are scored again, and the scores and ranks before and after are published with the reason.",
    )


TEAM_RULES = (
    "A team that is disqualified or withdraws stays on the board without a rank; the teams below it move up.",
    "Teams may merge: from then on their entries count together, also for the quota; earlier entries stay as they are.",
)
"""The rules on teams."""


def _duration(duration: timedelta) -> str:
    count, unit = in_exact_unit(duration)
    return counted(count, UNITS[unit].removesuffix("s"))
