"""The timeline of a challenge: what happened in public, and the dates to come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from scorer.live.commitment import COMMITMENT, OPENING
from scorer.live.entry import key_of_body, recorded
from scorer.live.errata import PublishedErratum, published_errata
from scorer.live.now import Now, public_to_all
from scorer.live.rules import changed_names
from scorer.record.events import EVERY_TRACK, AmendmentBody, FileBody
from scorer.rules.phases import Extension, Phase, Phases, closing, with_grace
from scorer.rules.picks import PickBody
from scorer.rules.tables import sentences
from scorer.rules.teams import OF_NAMES, ChangeKind, teams
from scorer.settings.tracks import Track
from scorer.store.events import AppliedErratumBody, BasisBody, CommitmentBody, RevealBody
from scorer.store.snapshot import Snapshot
from scorer.wording import exact_time, one_line

_PhaseKind = Literal["announced", "rescheduled", "extended", "started", "frozen", "closed"]

_Kind = (
    ChangeKind
    | _PhaseKind
    | Literal["erratum", "split", "committed", "revealed", "rules", "decided", "entry", "lead", "rank"]
)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened in a challenge, or a date to come."""

    at: datetime
    """In UTC."""
    track: str
    """The name of the track; empty for what concerns the whole challenge."""
    kind: _Kind
    text: str
    """What happened, without a full stop."""
    detail: str = ""
    """The reason, or what follows from it; empty without one."""
    link: str = ""
    """The path of a page or a file of the site about it; empty without one."""
    index: int = 0
    """Of its event in the record; 0 for what follows from the phases."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened in public, and the dates to come."""

    happenings: tuple[Happening, ...] = ()
    """The latest first."""
    upcoming: tuple[Happening, ...] = ()
    """The next first."""
    errata: Mapping[str, tuple[PublishedErratum, ...]] = field(default_factory=dict)
    """The errata of each track that has some, by its name, the earliest first."""


NO_TIMELINE = Timeline()


def timeline(view: Snapshot, tracks: Sequence[Track]) -> Timeline:
    """The timeline of a challenge, given all its tracks with the settings of challenge.toml.

    The phases and their extensions are public at any time. Everything else about a track stops while it is frozen, and
    what concerns all tracks stops while any of them is.
    """
    shown_to_all = public_to_all(view, tracks)
    happenings = [*_commitments(shown_to_all)]
    if all(Now.of(view, track).shows("board") for track in tracks):
        happenings += _teams(shown_to_all)
    upcoming: list[Happening] = []
    errata = {}
    for track in tracks:
        now = Now.of(view, track)
        plan, shown = now.phases, now.public.view
        happenings += _decisions(track.name, plan)
        happenings += _passed(track.name, plan, view.now)
        upcoming += (date for phase in plan.all for date in _dates(track.name, phase) if date.at > view.now)
        happenings += _scoring(shown, track.name)
        happenings += _on_entries(shown, track.name) if now.shows("board") else ()
        published = published_errata(shown, track, now.public.errata.applied)
        if published:
            errata[track.name] = published
            happenings += map(_erratum, published)
    order = {track.name: position for position, track in enumerate(tracks)}
    happenings.sort(key=lambda happening: (happening.at, happening.index), reverse=True)
    upcoming.sort(key=lambda date: (date.at, order[date.track]))
    return Timeline(tuple(happenings), tuple(upcoming), errata)


def _decisions(track: str, plan: Phases) -> Iterator[Happening]:
    """Announcements and extensions."""
    before: tuple[Phase, ...] = ()
    for decision in plan.decisions:
        at, index, after = decision.at, decision.index, decision.phases
        if at is not None and isinstance(decision, Extension):
            times = f"closes {exact_time(decision.end)} instead of {exact_time(decision.before)}"
            text = f"Phase {decision.phase} extended: {times}"
            yield Happening(at, track, "extended", text, one_line(decision.reason), index=index)
        elif at is not None and not before:
            yield Happening(at, track, "announced", "Phases announced", "; ".join(map(_described, after)), index=index)
        elif at is not None:
            names = {phase.name for phase in after}
            changed = [_described(phase) for phase in after if phase not in before]
            changed += [f"{phase.name}: removed" for phase in before if phase.name not in names]
            yield Happening(at, track, "rescheduled", "Phases changed", "; ".join(changed), index=index)
        before = after


def _described(phase: Phase) -> str:
    text = f"{phase.name}: {exact_time(phase.start)} to {closing(phase)}"
    if phase.frozen_from is not None:
        text += f", frozen from {exact_time(phase.frozen_from)}"
    if phase.shows == "ladder":
        return f"{text}, with the scores of the Ladder"
    return f"{text}, without scores" if phase.hides_scores else text


def _passed(track: str, plan: Phases, now: datetime) -> Iterator[Happening]:
    """The dates of phases that passed, each by the phases that were in force then."""
    versions = [decision.phases for decision in plan.decisions] or [plan.all]
    # Before the first announcement was recorded, challenge.toml had its phases.
    begins = [None, *(decision.at for decision in plan.decisions[1:]), None]
    for phases, (begin, end) in zip(versions, itertools.pairwise(begins), strict=True):
        for phase in phases:
            for date in _dates(track, phase, past=True):
                if date.at <= now and (begin is None or date.at >= begin) and (end is None or date.at < end):
                    yield date


def _dates(track: str, phase: Phase, *, past: bool = False) -> Iterator[Happening]:
    """The dates of a phase, as what happened then, or as dates to come."""
    name = f"Phase {phase.name}"
    yield Happening(phase.start, track, "started", f"{name} {'started' if past else 'starts'}")
    if phase.frozen_from is not None:
        yield Happening(
            phase.frozen_from,
            track,
            "frozen",
            f"Board {'frozen' if past else 'freezes'} for the end of phase {phase.name}",
            "Until the phase has closed, it shows the record as it was before.",
        )
    yield Happening(phase.end, track, "closed", f"{name} {'closed' if past else 'closes'}{with_grace(phase)}")


def _teams(view: Snapshot) -> Iterator[Happening]:
    every = tuple(teams(view.teams, view.decisions(EVERY_TRACK)).values())
    folders = {team.folder: team for team in every}
    for team in every:
        for change in team.history:
            if change.at is not None:
                names = [change.before, change.after]
                if change.kind not in OF_NAMES:  # then these are folders
                    names = [folders[name].name if name in folders else name for name in names]
                before, after = names
                (text,) = sentences("timeline", change.kind, name=team.name, before=before, after=after)
                link = f"teams/{team.slug}.html"
                yield Happening(change.at, "", change.kind, text, one_line(change.reason), link, change.index)


def _on_entries(view: Snapshot, track: str) -> Iterator[Happening]:
    """Decisions of the organisers about single entries, and about picks."""
    by_folder, states = teams(view.teams, view.decisions(EVERY_TRACK)), recorded(view, track)
    for event in view.events(track):
        body = event.body
        if isinstance(body, FileBody) and event.kind in ("amendment", "forgetting"):
            state = states.get(key_of_body(states, body))
            folder, index = (state.submission.team, state.index) if state else ("", 0)
        elif isinstance(body, PickBody) and body.source == "command":
            folder, index = body.team, 0
        else:
            continue
        if event.at is not None and folder in by_folder:
            time = exact_time(body.received) if isinstance(body, AmendmentBody) else ""
            (text,) = sentences("timeline", event.kind, index=index, name=by_folder[folder].name, time=time)
            link = f"teams/{by_folder[folder].slug}.html"
            yield Happening(event.at, track, "decided", text, one_line(body.reason), link, event.index)


def _commitments(view: Snapshot) -> Iterator[Happening]:
    for event in view.decisions(EVERY_TRACK):
        if event.at is None:
            continue
        if isinstance(event.body, CommitmentBody):
            text, detail = "Solutions, rules and keys committed", f"SHA-256: {event.body.sha256}"
            yield Happening(event.at, "", "committed", text, detail, COMMITMENT, event.index)
        elif isinstance(event.body, RevealBody):
            text, detail = "Commitment revealed", f"SHA-256: {event.body.commitment}"
            yield Happening(event.at, "", "revealed", text, detail, OPENING, event.index)


def _erratum(erratum: PublishedErratum) -> Happening:
    text = f"Erratum {erratum.number} applied: {erratum.changed}" if erratum.changed else f"Erratum {erratum.number}"
    return Happening(erratum.at, erratum.track, "erratum", text, erratum.reason, erratum.path, erratum.index)


def _scoring(view: Snapshot, track: str) -> Iterator[Happening]:
    """The hashes of keys of splits, revealed keys, and changes of the rules without an erratum."""
    before: BasisBody | None = None
    by_erratum = False
    for event in view.decisions(track):
        if event.at is not None and event.kind == "reveal" and event.track:
            link = f"{track}/split.json"
            yield Happening(event.at, track, "revealed", "Key of the split revealed", link=link, index=event.index)
        if isinstance(event.body, BasisBody):
            basis = event.body
            changed = () if before is None or by_erratum else changed_names(before, basis)
            if event.at is not None and changed:
                text = f"Scoring changed: {', '.join(changed)}"
                yield Happening(event.at, track, "rules", text, index=event.index)
            key = basis.key_sha256
            if event.at is not None and key and (before is None or key != before.key_sha256):
                text, link = "Hash of the key of the split published", f"{track}/split.json"
                yield Happening(event.at, track, "split", text, f"SHA-256: {key}", link, event.index)
            before = basis
        by_erratum = isinstance(event.body, AppliedErratumBody)
