"""Commitments and receipts: what the organiser publishes before the start and at the end, and signed statements for
teams.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scorer.errors import ChallengeError, os_errors_as
from scorer.files.writing import bytes_of, replace_content
from scorer.live.commitment import Commitment, commitments, receipts
from scorer.live.now import Now, published_log, submissions_of
from scorer.live.phases import is_revealed, recorded_key
from scorer.live.rules import committed_content
from scorer.organising.phases import announcement, with_split
from scorer.organising.picks import entry_named
from scorer.organising.rules import RuleSet
from scorer.record.events import EVERY_TRACK
from scorer.record.log import head_statement, opening_of, sha256_of
from scorer.record.signatures import public_key, signature
from scorer.rules.phases import closing
from scorer.rules.split import QuerySplit
from scorer.rules.teams import slugs
from scorer.settings.tracks import Challenge, Track, split_of
from scorer.store.documents import receipt_name
from scorer.store.events import new_basis
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import iso_time, utc_moment


def named_receipts(challenge: Challenge, store: Store, tracks: Sequence[Track], names: Sequence[str]) -> list[str]:
    """The receipts of some entries, named as for `entry_named`."""

    def work(view: Snapshot) -> list[str]:
        indexes = [entry_named(view, tracks, name).index for name in names]
        texts = receipts(view, challenge.name, set(indexes))
        return [texts[index] for index in indexes]

    return store.read(work)


def signed_head(challenge: Challenge, store: Store) -> str:
    """The line with the last public head of the log: its place, its time, a signature and the name of the challenge.

    Raises ChallengeError without an event.
    """

    def work(view: Snapshot) -> str:
        last = published_log(view, challenge.tracks).head
        if last is None:
            raise ChallengeError(f"{challenge.name}: nothing is recorded yet; `scorer run` records the first event")
        at = view.all_events[last.index - 1].at
        time = "-" if at is None else iso_time(at)
        stated = head_statement(last.place, last.head.hex(), time, challenge.name)
        signed = base64.b64encode(signature(view.secret("receipts"), stated.encode())).decode("ascii")
        return f"{last.place}:{last.head.hex()} {time} {signed} {challenge.name}"

    return store.read(work)


def write_receipts(challenge: Challenge, store: Store, tracks: Sequence[Track], folder: Path) -> tuple[int, int]:
    """Write the receipt of every entry of some tracks into a folder, as ``<track>/<team>/<index>-<file>.receipt.txt``.

    Returns how many receipts were written, and how many were there already; these are left as they are.
    """

    def work(view: Snapshot) -> list[tuple[Path, str]]:
        entries = {state.index: state.submission for state in submissions_of(view, tracks)}
        names, texts = slugs(view.teams), receipts(view, challenge.name, set(entries))
        return [
            (folder / entry.track / names[entry.team] / receipt_name(index, entry.file), texts[index])
            for index, entry in entries.items()
        ]

    listed = store.read(work)
    missing = [(path, text) for path, text in listed if not _is_there(path, text)]
    for path, text in missing:
        write_receipt(path, text)
    return len(missing), len(listed) - len(missing)


def _is_there(path: Path, text: str) -> bool:
    """Whether a file has this receipt. Raises ChallengeError if it has another one, or cannot be read."""
    with os_errors_as(ChallengeError, f"{path}: cannot be read", "name another folder"):
        found = bytes_of(path)
    if found in (None, text.encode("ascii")):
        return found is not None
    raise ChallengeError(
        f"{path}: differs from the receipt of the record; receipts change only with the name of the challenge, or "
        "if the database is another one; restore what changed, or name another folder"
    )


def write_receipt(path: Path, text: str) -> None:
    """Write a receipt into a file. Raises ChallengeError if that is impossible."""
    with os_errors_as(ChallengeError, f"{path}: cannot be written", "name another file"):
        replace_content(path, text.encode("ascii"), is_private=True)


def commit(challenge: Challenge, store: Store) -> Commitment:
    """Commit to the solutions, the rules and the keys of splits, as the files are now; return the commitment.

    The phases are announced, and the boards are based on these files from now on: a changed file changes nothing until
    it is committed. If nothing has changed since the last commitment, nothing is recorded. No phase may have started.
    """

    def read(view: Snapshot) -> list[RuleSet]:
        _check_not_started(view, challenge)
        return [RuleSet.of(view, track, store) for track in challenge.tracks]

    rule_sets = store.read(read)
    for rules in rule_sets:
        rules.store_solution(store, rules.checked_solution())

    def committed(view: Snapshot) -> Added:
        _check_not_started(view, challenge)
        announced = {track.name: announcement(view, track) for track in challenge.tracks}
        added = [event for events in announced.values() for event in events]
        for rules in rule_sets:
            added += new_basis(rules.track.name, view.events(rules.track.name), rules.recorded.body)
        content = {
            "challenge": challenge.name,
            "scorer": version("challenge-scorer"),
            "receipts": public_key(view.secret("receipts")).hex(),
            "tracks": {rules.track.name: _content(view, rules, announced[rules.track.name]) for rules in rule_sets},
        }
        opening = opening_of(view.secret("commitment"), content)
        earlier = commitments(view.events())
        if not earlier or earlier[-1].opening != opening:
            added.append((EVERY_TRACK, "commitment", {"sha256": sha256_of(opening), "opening": opening}))
        return added

    store.record(committed)
    return store.read(lambda view: commitments(view.events()))[-1]


def _check_not_started(view: Snapshot, challenge: Challenge) -> None:
    for track in challenge.tracks:
        if not track.phases:
            raise ChallengeError(
                f"tracks.{track.name}.phases: is missing; a challenge is committed before its start, so every track "
                f"needs phases; add a table [[tracks.{track.name}.phases]]"
            )
        plan = Now.of(view, track).phases
        if plan.has_started(view.now):
            first = plan.all[0]
            raise ChallengeError(
                f"{track.name}: the phase {first.name} started at {utc_moment(first.start)}; a challenge is committed "
                "before its start; `scorer erratum preview` changes a solution or a rule afterwards"
            )


def _content(view: Snapshot, rules: RuleSet, announced: Added) -> dict[str, Any]:
    """What is committed about a track."""
    phases = [phase.recorded() for phase in Now.of(view, rules.track).phases.all]
    if announced:
        phases = announced[-1][-1]["phases"]
    return committed_content(rules.recorded, phases)


@dataclass(frozen=True, slots=True)
class Reveal:
    """What is public now: the key of a split, or the opening of the commitment."""

    track: str
    """Of the key; empty for the commitment."""
    sha256: str
    """Of the key or of the opening."""
    is_new: bool
    """Whether it was not public before."""


def reveal(challenge: Challenge, store: Store, tracks: Sequence[Track]) -> tuple[Reveal, ...]:
    """Record that the keys of some tracks are public, and with all tracks, the opening of the commitment.

    Returns what is public now: the keys in the order of the tracks, then the commitment. Nothing is recorded, and
    ChallengeError is raised, if a track still hides final scores, or shares its key with one that does, or its board is
    based on another key.
    """
    splits = [split for track in tracks if (split := split_of(track)) is not None]
    is_whole = len(tracks) == len(challenge.tracks)

    def revealed(view: Snapshot) -> tuple[Added, list[Reveal]]:
        last = commitments(view.events())[-1:] if is_whole else ()
        if not splits and not last:
            with_split(tracks)
        for split in splits:
            _check_key(view, challenge, split)
        for track in challenge.tracks if last else ():
            check_over(view, track)
        reveals = [Reveal(split.track, split.key_sha256, not is_revealed(view, split)) for split in splits]
        reveals += [Reveal(EVERY_TRACK, commitment.sha256, not commitment.is_revealed) for commitment in last]
        bodies: list[Mapping[str, Any]] = [{"split_key": split.key.hex()} for split in splits]
        bodies += [{"commitment": commitment.sha256} for commitment in last]
        added: Added = [(made.track, "reveal", body) for made, body in zip(reveals, bodies, strict=True) if made.is_new]
        return added, reveals

    return tuple(store.record_with(revealed))


def _check_key(view: Snapshot, challenge: Challenge, split: QuerySplit) -> None:
    for track in challenge.tracks:
        other = None if Now.of(view, track).track.stage == "final" else split_of(track)
        if other is None or other.key != split.key:
            continue
        shares = "" if track.name == split.track else f"the key of {split.track} is also that of {track.name}, and "
        raise ChallengeError(
            f"{split.track}: {shares}the final scores of {track.name} are not shown yet; the key would show which "
            "queries are preliminary; reveal it when the final scores are public"
        )
    if recorded_key(view, split.track) != split.key_sha256:
        raise ChallengeError(
            f"{split.track}: its board is not based on the key with the SHA-256 {split.key_sha256}; restore the key "
            "file that it is based on, or score it by this key with `scorer run`"
        )


def check_over(view: Snapshot, track: Track) -> None:
    """Refuse to reveal the commitment while a track is not over, also one whose final scores are shown all the time."""
    now = Now.of(view, track)
    plan = now.phases
    is_over = plan.is_over(view.now) if plan.all else now.track.shows_final
    if not is_over:
        last = f"is open until {closing(plan.all[-1], utc_moment)}" if plan.all else "shows no final scores yet"
        raise ChallengeError(
            f"{track.name}: {last}; the opening of the commitment would show the SHA-256 of its solution; reveal it "
            "when all tracks show final scores, or only the key of a track with --track"
        )
