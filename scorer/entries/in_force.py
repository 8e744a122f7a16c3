"""The rules of a track that are in force at a moment: those recorded at the start, and the stage that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from scorer.challenge.phases import Phase
from scorer.challenge.settings import Track
from scorer.entries.commitments import is_committed
from scorer.entries.schedule import Schedule, schedule
from scorer.errors import ChallengeError
from scorer.options import Stage
from scorer.store.records import RecordedBasis
from scorer.store.snapshot import Snapshot

RULES = (
    "list_length",
    "cutoffs",
    "primary",
    "decimals",
    "missing",
    "ties",
    "equal_ranks",
    "entry",
    "picks",
    "final",
    "trusted_times",
    "quota",
    "split",
    "baselines",
    "solution_format",
    "submission_format",
)
"""The keys of a track that decide scores, ranks, or which entries count. Once they are committed or a phase has
started, a changed file does not change them: before the start another commitment does, afterwards an erratum. The bytes
of the solution and of the list of candidate items are rules, too."""


def rules_of_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """The rules among recorded settings as plain values, without the split, which is published separately."""
    return {name: settings[name] for name in RULES if name in settings and name != "split"}


def track_schedule(view: Snapshot, track: Track) -> Schedule:
    """The phases of a track as of a snapshot."""
    return schedule(view.events(track.name), track.phases)


def are_rules_fixed(view: Snapshot, track: Track) -> bool:
    """Whether changed files do not change the rules: a phase has started, or the rules are committed."""
    return view.recorded_basis(track.name) is not None and (
        track_schedule(view, track).has_started(view.now) or is_committed(view.events(), track.name)
    )


def in_force(view: Snapshot, track: Track, basis: RecordedBasis | None = None) -> Track:
    """The track with the rules in force at the time of a snapshot.

    Parameters
    ----------
    view
        A snapshot of the database.
    track
        With the settings of challenge.toml.
    basis
        Has the rules; None: the basis that is recorded last.

    Returns
    -------
    Track
        Without phases, it is unchanged. With phases, its stage follows from the time: final scores are shown once the
        last phase has closed, and all the time where there are no preliminary queries.

    Raises
    ------
    StoreError
        The database fails.
    """
    plan = track_schedule(view, track)
    if not plan.phases:
        return track
    recorded = basis or view.recorded_basis(track.name)
    if recorded is not None and (basis is not None or are_rules_fixed(view, track)):
        track = with_rules(track, recorded)
    return at_stage(track, plan, _stage(view, track, plan, recorded), plan.deciding(view.now))


def with_rules(track: Track, recorded: RecordedBasis) -> Track:
    """The track with the rules of a recorded basis; its other settings are those of challenge.toml.

    Raises ChallengeError if these contradict the rules.
    """
    values = {name: getattr(track, name) for name in Track.model_fields}
    stored = recorded.settings or {}
    # Recorded settings have trusted_times only where it is true.
    rules = {"trusted_times": False, **{name: stored[name] for name in RULES if name in stored}}
    if track.split is not None and isinstance(split := rules.get("split"), dict):
        rules["split"] = {**split, "key_file": track.split.key_file}  # where the key is, is no rule
    # The stage follows from the phases, also in a track that `at_stage` returned.
    stage = None if track.phases else track.stage
    chosen = values | rules | {"stage": stage, "deciding_phase": None, "auto_decimals": 0}
    if chosen["entry"] != "picks":
        del chosen["picks"]  # it has no effect then, and may not be set
    try:
        return Track.model_validate(chosen)
    except ValidationError as error:
        key = ".".join(map(str, ("tracks", track.name, *error.errors()[0]["loc"])))
        raise ChallengeError(
            f"{key}: contradicts the rules in force ({error.errors()[0]['msg']}); restore its value"
        ) from error


def at_stage(track: Track, plan: Schedule, stage: Stage, deciding: Phase | None = None) -> Track:
    """The track with the phases of a schedule, at a stage that they decide.

    Where the phase `deciding` shows other than the scores of the stage, the track has no further measures.
    """
    values = {name: getattr(track, name) for name in Track.model_fields}
    changed = {"phases": plan.phases, "stage": stage, "deciding_phase": deciding}
    if deciding is not None and deciding.shows != "score":
        changed["measures"] = ()
    return Track.model_construct(**{**values, **changed})


def _stage(view: Snapshot, track: Track, plan: Schedule, recorded: RecordedBasis | None) -> Stage:
    if plan.is_over(view.now):
        return "final"
    return "preliminary" if has_preliminary_queries(view, track, recorded) else "final"


def has_preliminary_queries(view: Snapshot, track: Track, recorded: RecordedBasis | None) -> bool:
    """Whether a track has preliminary queries; True as long as no basis is recorded."""
    return recorded is None or track.split is not None or bool(view.flags(recorded.basis).any())


def public(view: Snapshot, track: Track) -> Snapshot:
    """The snapshot as visitors may see it: during a freeze, the record as it was when the freeze began."""
    return public_to_all(view, [track])


def public_to_all(view: Snapshot, tracks: Iterable[Track]) -> Snapshot:
    """What concerns several tracks, as visitors may see it: while one is frozen, the record from before its freeze."""
    frozen = (track_schedule(view, track).frozen_since(view.now) for track in tracks)
    since = [each for each in frozen if each is not None]
    return view.before(min(since)) if since else view
