"""The phases of a track, recorded when they are announced, and the splits of a challenge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from scorer.errors import ChallengeError
from scorer.live.ladder import check_ladder
from scorer.live.now import Now
from scorer.live.rules import is_committed
from scorer.rules.phases import Extension, Phase, Phases, check_order, closing, duration_text, replace_end
from scorer.rules.split import QuerySplit, check_split, make_key
from scorer.settings.tracks import Challenge, Track, check_stage
from scorer.store.events import Basis, StoredQueries
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import quoted, suggestion, utc_moment


def announcement(view: Snapshot, track: Track) -> Added:
    """The event that announces the phases of challenge.toml, if they are new or have changed before their start.

    Raises ChallengeError.
    """
    recorded = Now.of(view, track).phases
    _check_steps(track)
    if not recorded.decisions:
        return [(track.name, "phases", _body(track.phases))] if track.phases else []
    if not track.phases and is_committed(view.events(), track.name):
        raise ChallengeError(
            f"tracks.{track.name}.phases: is missing, but the challenge is committed with phases; restore them"
        )
    in_force = {phase.name: phase for phase in recorded.all}
    for phase in recorded.all:
        if phase.start <= view.now:
            _check_unchanged(track, phase, recorded.ends[phase.name])
    phases = []
    for position, phase in enumerate(track.phases):
        announced = in_force.get(phase.name)
        has_started = announced is not None and announced.start <= view.now
        if phase.start <= view.now and not has_started:
            raise ChallengeError(
                f"tracks.{track.name}.phases[{position}]: the {'changed' if announced else 'new'} phase {phase.name} "
                f"starts in the past, at {utc_moment(phase.start)}; a phase is announced before it starts"
            )
        # A phase that was extended keeps its new end, also while challenge.toml has an earlier one.
        was_extended = announced is not None and phase.end in recorded.ends[phase.name]
        phases.append(replace_end(phase, announced.end) if announced is not None and was_extended else phase)
    try:
        check_order(tuple(phases))
    except ValueError as error:
        raise ChallengeError(f"tracks.{track.name}.phases: with the extensions, {error}") from error
    return [] if tuple(phases) == recorded.all else [(track.name, "phases", _body(phases))]


def _check_steps(track: Track) -> None:
    """Raise ChallengeError if a phase has the Ladder without a step."""
    for position, phase in enumerate(track.phases):
        if phase.shows == "ladder" and phase.ladder_step is None:
            raise ChallengeError(
                f'tracks.{track.name}.phases[{position}].ladder_step: is missing, with shows = "ladder"; add the least '
                "improvement that the Ladder shows, about 1 / √n for n preliminary queries, as in ladder_step = 0.05"
            )


def _check_unchanged(track: Track, phase: Phase, ends: Collection[datetime]) -> None:
    """Refuse a change of a phase that has started; its end may be any that it has had."""
    for position, stated in enumerate(track.phases):
        if stated.name != phase.name:
            continue
        for key in ("start", "end", "grace", "freeze", "shows", "ladder_step"):
            value = getattr(stated, key)
            if value != getattr(phase, key) and not (key == "end" and value in ends):
                remedy = f"restore {_shown(getattr(phase, key))}"
                if key == "end":
                    remedy += (
                        f", or record a later end with `scorer phases extend {phase.name} --end TIME --reason TEXT`"
                    )
                raise ChallengeError(
                    f"tracks.{track.name}.phases[{position}].{key}: found {_shown(value)}, but the phase {phase.name} "
                    f"has started and was announced with {_shown(getattr(phase, key))}; {remedy}"
                )
        return
    raise ChallengeError(
        f"tracks.{track.name}.phases: lacks the phase {phase.name}, which started at {utc_moment(phase.start)}; "
        "restore its table"
    )


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, datetime):
        return utc_moment(value)
    return f'"{duration_text(value) if isinstance(value, timedelta) else value}"'


def _body(phases: Sequence[Phase]) -> dict[str, Any]:
    return {"phases": [phase.recorded() for phase in phases]}


def extend(
    challenge: Challenge, store: Store, track: str | None, name: str, end: datetime, reason: str
) -> dict[str, Extension]:
    """Give a phase a later end in a track, or without one in all tracks that have it; returns the extensions by track.

    The decision is recorded, and visitors read the reason. If one of the tracks does not allow it, it is extended in
    none.
    """
    plans = store.read(lambda view: {each.name: Now.of(view, each).phases for each in challenge.tracks})
    tracks = _tracks_with(challenge, plans, track, name)
    end = end.astimezone(UTC)
    for extended in tracks:
        stated = _with_former_end(extended, plans[extended.name], name, end)
        store.record(partial(announcement, track=stated))

    def decide(view: Snapshot) -> Added:
        for extended in tracks:
            _check_extension(extended, Now.of(view, extended).phases, name, end, view.now)
        body = {"phase": name, "end": end.isoformat(), "reason": reason.strip()}
        return [(extended.name, "extension", body) for extended in tracks]

    if not reason.strip():
        raise ChallengeError("the reason is blank; give one: visitors read it")
    store.record(decide)
    last = store.read(lambda view: {each.name: Now.of(view, each).phases.decisions[-1] for each in tracks})
    return {name: decision for name, decision in last.items() if isinstance(decision, Extension)}


def _with_former_end(track: Track, recorded: Phases, name: str, end: datetime) -> Track:
    """The track; if its file has the new end of the phase already, with the end in force."""
    in_force = {phase.name: phase for phase in recorded.all}
    phases = tuple(
        replace_end(phase, in_force[name].end)
        if phase.name == name and phase.end == end and name in in_force
        else phase
        for phase in track.phases
    )
    return track.model_copy(update={"phases": phases})


def _tracks_with(challenge: Challenge, plans: Mapping[str, Phases], track: str | None, name: str) -> Sequence[Track]:
    if track is not None:
        return [challenge.track(track)]
    names = {phase.name for plan in plans.values() for phase in plan.all}
    if name in names:
        return [each for each in challenge.tracks if any(phase.name == name for phase in plans[each.name].all)]
    raise ChallengeError(
        f"no phase is called {quoted(name)}{suggestion(name, sorted(names))}; the phases are: "
        f"{', '.join(sorted(names)) or 'none'}"
    )


def _check_extension(track: Track, recorded: Phases, name: str, end: datetime, now: datetime) -> None:
    names = [phase.name for phase in recorded.all]
    if name not in names:
        raise ChallengeError(
            f"track {track.name} has no phase {quoted(name)}{suggestion(name, names)}; "
            f"its phases are: {', '.join(names) or 'none'}"
        )
    position = names.index(name)
    phase, following = recorded.all[position], recorded.all[position + 1 : position + 2]
    if now >= phase.closes:
        raise ChallengeError(
            f"{track.name}: the phase {name} closed at {closing(phase, utc_moment)}; a closed phase is not extended: "
            "add a new phase to challenge.toml"
        )
    if end <= phase.end:
        raise ChallengeError(
            f"{track.name}: {utc_moment(end)} is not after the end of {name}, {utc_moment(phase.end)}; give a "
            "later time"
        )
    for later in following:
        if end + phase.grace > later.start:
            grace = f" with the grace of {name}" if phase.grace else ""
            raise ChallengeError(
                f"{track.name}: {utc_moment(end)}{grace} reaches into the phase {later.name}, which starts at "
                f"{utc_moment(later.start)}; give an earlier time"
            )


def check_preliminary(track: Track, basis: Basis, queries: StoredQueries) -> None:
    """Check that the settings for preliminary scores agree with the queries of the solution; `basis` has the split."""
    selected = int(basis.flags(queries).sum())
    if basis.split is not None:
        check_split(track.name, int(queries.flagged.sum()), selected, len(queries.ids))
    check_stage(track, selected)
    check_ladder(track, selected)
    if track.clusters is not None:
        from scorer.lists.slices import read_clusters  # noqa: PLC0415 (a run with nothing new does not load Arrow)

        clusters = read_clusters(track.files.get("clusters", track.clusters), queries.ids)
        flags = basis.flags(queries).tolist()
        side = dict(zip(clusters, flags, strict=True))
        if cut := [cluster for cluster, flag in zip(clusters, flags, strict=True) if flag != side[cluster]]:
            raise ChallengeError(
                f"tracks.{track.name}.clusters: the cluster {quoted(cut[0])} has preliminary queries and others; flag "
                "all queries of a cluster in the solution, or none"
            )


def make_keys(challenge: Challenge) -> list[Path]:
    """Make the key files that the tracks name and that do not exist, and return them. Tracks may share a file."""
    paths = dict.fromkeys(track.key_path for track in with_split(challenge.tracks) if track.key_path)
    made = [path for path in paths if not path.exists()]
    for path in made:
        make_key(path)
    return made


def with_split(tracks: Sequence[Track]) -> list[Track]:
    """The tracks that have a split. Raises ChallengeError if no track has one."""
    with_key = [track for track in tracks if track.split is not None]
    if not with_key:
        names = ", ".join(track.name for track in tracks)
        raise ChallengeError(f"{names}: no split; add split = {{preliminary = 0.2}} to the table of a track")
    return with_key


def selected_queries(track: Track, split: QuerySplit) -> tuple[int, int]:
    """How many queries of the solution a split selects for the preliminary scores, and how many there are."""
    from scorer.lists.solution import Solution  # noqa: PLC0415 (Arrow is slow to load)

    solution = Solution.read(track.solution_path, track.solution_format)
    flags = split.flags(solution.queries.to_pylist())
    check_split(track.name, int(solution.flagged.sum()), sum(flags), len(flags))
    return sum(flags), len(flags)
