"""Rules: those in force at a moment, and the differences between two bases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from scorer.errors import ChallengeError
from scorer.options import SELF
from scorer.settings.tracks import Track
from scorer.store.events import Event, RecordedBasis
from scorer.store.log import content_of
from scorer.store.snapshot import Snapshot
from scorer.wording import one_line

RULES = (
    "list_length",
    "cutoffs",
    "primary",
    "decimals",
    "missing",
    "exclude",
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
of the solution, of the list of candidate items and of that of excluded ones are rules, too."""


def rules_of_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """The rules among recorded settings as plain values, without the split, which is published separately."""
    return {name: _rule(settings, name) for name in RULES if name in settings and name != "split"}


def is_committed(events: Sequence[Event], track: str) -> bool:
    """Whether the last commitment of the challenge includes a track."""
    last = next((event for event in reversed(events) if event.kind == "commitment"), None)
    return last is not None and track in content_of(last.body["opening"])["tracks"]


def with_rules(track: Track, recorded: RecordedBasis) -> Track:
    """The track with the rules of a recorded basis; its other settings are those of challenge.toml.

    Raises ChallengeError if these contradict the rules.
    """
    values = {name: getattr(track, name) for name in Track.model_fields}
    stored = recorded.settings or {}
    # Recorded settings have trusted_times only where it is true, and exclude only where it is set.
    rules = {"trusted_times": False, "exclude": None, **{name: stored[name] for name in RULES if name in stored}}
    if track.split is not None and isinstance(split := rules.get("split"), dict):
        rules["split"] = {**split, "key_file": track.split.key_file}  # where the key is, is no rule
    if isinstance(exclude := rules["exclude"], dict):
        rules["exclude"] = track.exclude if track.exclude not in (None, SELF) else exclude["file"]
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


@dataclass(frozen=True, slots=True)
class ChangedRule:
    """A rule that differs between two bases."""

    name: str
    """The key of challenge.toml."""
    before: str
    after: str


def rule_changes(before: RecordedBasis, after: RecordedBasis) -> tuple[ChangedRule, ...]:
    """The rules that differ between two bases, in the order of challenge.toml; none if schema 1 recorded one."""
    if before.settings is None or after.settings is None:
        return ()
    both = ((name, _rule(before.settings, name), _rule(after.settings, name)) for name in RULES)
    return tuple(ChangedRule(name, value_text(old), value_text(new)) for name, old, new in both if old != new)


def _rule(settings: Mapping[str, Any], name: str) -> Any:
    """The value of a rule; without the path of a file, which is no rule."""
    value = settings.get(name)
    return {key: part for key, part in value.items() if key not in NOT_SHOWN} if isinstance(value, dict) else value


def file_changes(before: RecordedBasis, after: RecordedBasis) -> tuple[tuple[str, str | None, str | None], ...]:
    """The files that differ between two bases: "solution" and "items", with the digest before and after."""
    digests = (
        ("solution", before.basis.solution, after.basis.solution),
        ("items", before.items, after.items),
    )
    return tuple((name, old, new) for name, old, new in digests if old != new)


def changed_names(before: RecordedBasis, after: RecordedBasis) -> tuple[str, ...]:
    """What differs between two bases: names of rules, and "solution" and "items" for files."""
    rules = (rule.name for rule in rule_changes(before, after))
    return (*rules, *(name for name, _, _ in file_changes(before, after)))


NOT_SHOWN = frozenset({"key_file", "file"})
"""Keys of tables that are no rule, but a path on the organiser's machine."""


def value_text(value: object) -> str:
    """The value of a setting, as the record has it, for people: ``5, 10``, ``per_day 5, zone UTC``, ``none``."""
    if isinstance(value, Mapping):
        parts = (
            f"{key} {value_text(part)}" for key, part in value.items() if key not in NOT_SHOWN and part is not None
        )
        return ", ".join(parts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(value_text, value)) or "none"
    return "none" if value is None else one_line(str(value))


@dataclass(frozen=True, slots=True)
class SaltedDigest:
    """Shows that a file stays the same, without a clue to its content before it is revealed."""

    salted: str
    """The HMAC-SHA256 of `digest` with the salt as the key, in hexadecimal."""
    digest: str = ""
    """SHA-256 of the file, in hexadecimal; empty until it is revealed."""
    salt: str = ""
    """In hexadecimal; empty until it is revealed."""


def salted_digest(view: Snapshot, track: Track, digest: str) -> SaltedDigest:
    """What pages show about a file: its plain digest and the salt only if the organiser reveals the solution."""
    salted = view.salted_digest(digest)
    if not track.reveal_solution:
        return SaltedDigest(salted)
    return SaltedDigest(salted, digest, view.secret("solutions").hex())
