"""Rules: those in force at a moment, and the differences between two bases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from scorer.errors import ChallengeError, os_errors_as
from scorer.files import digest
from scorer.options import SELF
from scorer.record.events import Event, bodies
from scorer.record.log import opened_content
from scorer.rules.quota import zone_text
from scorer.rules.tables import sentences
from scorer.settings.tracks import Track, split_of
from scorer.store.events import BasisBody, CommitmentBody
from scorer.store.snapshot import Snapshot
from scorer.wording import counted, one_line

RULES = (
    *("list_length", "cutoffs", "primary", "decimals", "missing", "exclude", "ties", "unjudged", "equal_ranks"),
    *("entry", "picks", "rows", "rows_per_team", "final", "trusted_times", "quota", "split", "clusters", "baselines"),
    *("overall", "visibility", "solution_format", "submission_format", "machine_weight"),
)
"""The keys of a track that decide scores, ranks, or which entries count. Once they are committed or a phase has
started, a changed file does not change them: before the start another commitment does, afterwards an erratum. The bytes
of the solutions, of the list of candidate items and of that of excluded ones are rules, too."""


def recorded_settings(track: Track, excluded: str | None = None) -> dict[str, Any]:
    """All settings of a track in the form in which they are recorded, of which rules are committed to.

    Of the key of a split it has the SHA-256, as of the list of excluded items, which is `excluded`.
    """
    recorded = track.recorded()
    if track.phases:
        recorded["stage"] = None
    if limits := track.limits.on_content:
        recorded["limits"] = limits
    if track.exclude is not None and excluded is not None:
        recorded["exclude"] = {"file": track.exclude, "sha256": excluded}
    if "clusters" in track.files:
        del recorded["clusters"]  # only a pattern is a rule
    if split := split_of(track):
        recorded["split"]["key_sha256"] = split.key_sha256
    return recorded


def rules_of_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """The rules among recorded settings as plain values, without the split, which is published separately."""
    return {name: rule_of(settings, name) for name in RULES if name in settings and name != "split"}


def committed_content(basis: BasisBody, phases: object) -> dict[str, Any]:
    """What a commitment says about a track with this basis and these phases."""
    settings = basis.settings or {}
    rules, split = rules_of_settings(settings), rule_of(settings, "split")
    return {**basis.files, "rules": rules, "phases": phases, "split": split}


def is_committed(events: Sequence[Event], track: str) -> bool:
    """Whether the last commitment of the challenge includes a track."""
    last = next((body for _, body in bodies(reversed(events), CommitmentBody)), None)
    return last is not None and track in opened_content(last.opening)["tracks"]


def with_rules(track: Track, recorded: BasisBody) -> Track:
    """The track with the rules of a recorded basis; its other settings are those of challenge.toml.

    Raises ChallengeError if these contradict the rules.
    """
    values = {name: getattr(track, name) for name in Track.model_fields}
    stored = recorded.settings or {}
    optional = {name: field.default for name, field in Track.model_fields.items() if not field.is_required()}
    defaults = {name: optional[name] for name in optional.keys() & ({*RULES} - Track.always_recorded)}
    rules = {**defaults, **{name: stored[name] for name in RULES if name in stored}}
    if track.split is not None and isinstance(split := rules.get("split"), dict):
        rules["split"] = {**split, "key_file": track.split.key_file}  # where the key is, is no rule
    if isinstance(exclude := rules["exclude"], dict):
        rules["exclude"] = track.exclude if track.exclude not in (None, SELF) else exclude["file"]
    if rules["clusters"] is None and "clusters" in track.files:
        rules["clusters"] = track.clusters
    # Whether there is a second solution is a rule, as its bytes are; where it is, is none.
    rules["checked"] = recorded.checked and (track.checked or recorded.checked)
    if recorded.checked is not None:
        rules["judged_bounds"] = None  # of scores by one solution; challenge.toml has them for what an erratum changed
    try:
        return Track.model_validate(values | rules)
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


def rule_changes(before: BasisBody, after: BasisBody) -> tuple[ChangedRule, ...]:
    """The rules that differ between two bases, in the order of challenge.toml; none if schema 1 recorded one."""
    if before.settings is None or after.settings is None:
        return ()
    both = ((name, rule_of(before.settings, name), rule_of(after.settings, name)) for name in RULES)
    return tuple(ChangedRule(name, value_text(old), value_text(new)) for name, old, new in both if old != new)


def rule_of(settings: Mapping[str, Any], name: str) -> Any:
    """The value of a rule; without the path of a file, which is no rule."""
    value = settings.get(name)
    return {key: part for key, part in value.items() if key not in NOT_SHOWN} if isinstance(value, dict) else value


def file_changes(before: BasisBody, after: BasisBody) -> tuple[tuple[str, str | None, str | None], ...]:
    """The files that differ between two bases, as `BasisBody.files`, with the digest before and after."""
    old, new = before.files, after.files
    return tuple((name, old.get(name), new.get(name)) for name in old | new if old.get(name) != new.get(name))


def changes_in_words(before: BasisBody, after: BasisBody) -> tuple[str, ...]:
    """Each rule and file that differs between two bases, as ``list_length: 3 before, 1 after``; for the organiser."""
    rules = ((rule.name, rule.before, rule.after) for rule in rule_changes(before, after))
    files = ((name, *(each[:12] if each else "none" for each in of)) for name, *of in file_changes(before, after))
    return tuple(f"{name}: {old} before, {new} after" for name, old, new in (*rules, *files))


def changed_names(before: BasisBody, after: BasisBody) -> tuple[str, ...]:
    """What differs between two bases: names of rules, and those of files as `BasisBody.files` has them."""
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
    return "none" if value is None else zone_text(one_line(str(value)))


@dataclass(frozen=True, slots=True)
class SaltedDigest:
    """Shows that a file stays the same, without a clue to its content before it is revealed."""

    salted: str
    """The HMAC-SHA256 of `digest` with the salt as the key, in hexadecimal."""
    digest: str = ""
    """SHA-256 of the file, in hexadecimal; empty until it is revealed."""
    salt: str = ""
    """In hexadecimal; empty until it is revealed."""


def list_digest(track: Track, key: str) -> str | None:
    """SHA-256 of the list that a key names; None without one. Raises ChallengeError if it cannot be read."""
    path = track.files.get(key)
    with os_errors_as(ChallengeError, f"{path}: cannot be read", "make it readable"):
        return None if path is None else digest(path)


def salted_digest(view: Snapshot, track: Track, digest: str) -> SaltedDigest:
    """What pages show about a file: its plain digest and the salt only if the organiser reveals the solution."""
    salted = view.salted_digest(digest)
    if not track.reveal_solution:
        return SaltedDigest(salted)
    return SaltedDigest(salted, digest, view.secret("solutions").hex())


def publication_rules(licence: str, *, submissions: bool) -> tuple[str, ...]:
    """What may become public at the end, under a licence, with submissions or without."""
    return sentences("publication", "events", "submissions" if submissions else "results", licence=licence)


def entry_rule(track: Track, score: str) -> str:
    """Which entry of a team counts, or which are rows; `score` is what decides which one is the best."""
    if track.rows != "entry":
        return "".join(sentences("entry", track.entry, score=score))
    names, rows, which = ["rows", *(["picked_rows"] if track.entry == "picks" else [])], "", ""
    if track.rows_per_team is not None:
        names, rows = [*names, "most_rows"], counted(track.rows_per_team, "row")
        (which,) = sentences("entry", "last_rows" if track.entry == "last" else "best_rows", score=score)
    return "".join(sentences("entry", *names, "dependent", rows=rows, which=which))


def pick_rules(track: Track) -> tuple[str, ...]:
    """The rules on picks; none where the track has none."""
    if track.entry != "picks":
        return ()
    (until,) = sentences("picks", "until_closed" if track.phases else "always")
    return sentences("picks", "most", "source", entries=counted(track.picks, "entry", "entries"), until=until)
