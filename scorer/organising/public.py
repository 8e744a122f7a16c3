"""The public archive of a challenge that is over, from which anybody derives its boards.

docs/verification-spec.md specifies the archive, so that nobody needs this package for the check.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scorer.board.overall import overall_board, overall_csv, overall_json
from scorer.board.site.pages import commitment_files, track_data
from scorer.errors import ChallengeError
from scorer.files import Remote
from scorer.limits import MB
from scorer.live.commitment import commitments, published_commitment, receipts
from scorer.live.entry import present_digests
from scorer.live.names import names_until
from scorer.live.now import Now, PublishedLog, decides, published_log
from scorer.live.phases import is_revealed
from scorer.live.timeline import timeline
from scorer.organising.bundles import (
    Content,
    challenge_files,
    content_of_file,
    solution_files,
    submitted_files,
    write_members,
)
from scorer.organising.commitment import check_over
from scorer.organising.phases import announcement
from scorer.organising.render import boards
from scorer.organising.rules import RuleSet, differing_settings
from scorer.record.events import EVERY_TRACK, ArrivalBody, Event, bodies, event_text
from scorer.record.log import LOG, encoded, nonce_of
from scorer.record.signatures import public_key
from scorer.rules.metadata import MetadataBody
from scorer.rules.visibility import shown_from
from scorer.settings.published import OUTSIDE, Portable, portable
from scorer.settings.tracks import FILE, Challenge, split_of
from scorer.store.documents import Manifest
from scorer.store.events import BasisBody
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.store.transfer import dumped
from scorer.verification.bundle import CHALLENGE, PUBLIC, SOLUTIONS, SUBMISSIONS
from scorer.verification.log import listed

PUBLIC_EVENTS, SIGNED = f"{PUBLIC}events.jsonl", f"{PUBLIC}receipts.jsonl"

RESULT_TABLE = "result"
RESULTS = f"tables/{RESULT_TABLE}.jsonl"

LARGEST = 100_000 * MB

_KEYS = ("name", "licence", "publish_submissions", "limits", "metadata", "overall", "visibility", "tracks")
PRIVATE_KEYS = ("description", "submissions", "ignore", "slices", "slices_public")
"""Keys of challenge.toml that the archive has, and keys of a track that it leaves out, because no score depends on
them.
"""

BOARDS = ("leaderboard.json", "leaderboard.csv")


@dataclass(frozen=True, slots=True)
class Proof:
    """What follows from the secrets of a record: whoever derives an archive from another one takes it from there."""

    log: PublishedLog
    nonces: Mapping[int, str]
    """Of the published events, in hexadecimal, by index."""
    key: str
    """The public key of receipts, in hexadecimal."""
    receipts: Mapping[int, str]
    """By the index of the arrival."""
    not_applied: Sequence[int] = ()
    """The indexes of errata of version 1 of the log that were previewed or cancelled, whose texts are not published."""

    @classmethod
    def of(cls, view: Snapshot, challenge: Challenge) -> Proof:
        """The proof by the secrets of the record."""
        key, opened = view.secret("log"), [event for event in view.all_events if decides(event)]
        nonces = {event.index: nonce_of(key, event.index, event_text(event)).hex() for event in opened}
        signed = receipts(view, challenge.name, {event.index for event in opened if event.kind == "arrival"})
        return cls(published_log(view, challenge.tracks), nonces, public_key(view.secret("receipts")).hex(), signed)


def export_public(challenge: Challenge, store: Store, settings: Path, target: Path) -> Manifest:
    """Write the public archive of a challenge that is over and revealed. The same state gives the same bytes.

    Raises ChallengeError if something is not public yet, or never.
    """
    if not challenge.licence:
        raise ChallengeError(
            f"{settings}: licence: is missing; the public archive needs the licence under which the submissions become "
            'public, or with publish_submissions = false the judged items in them, as in licence = "CC BY 4.0"; say so '
            "to the teams before the start"
        )
    moved = portable(settings, challenge)
    archive, kept = store.archive(challenge.root), store.kept_submissions(challenge.root)
    files, places = _files(challenge, moved)
    text = public_settings(moved.settings.decode("utf-8-sig"), places)

    def members(view: Snapshot) -> Mapping[str, Content]:
        check_public(view, challenge)
        _check_recorded(view, [RuleSet.of(view, track, store) for track in challenge.tracks])
        submitted = submitted_files(view, challenge, archive, kept, everything=challenge.publish_submissions)
        contents = files | solution_files(archive) | submitted
        texts = public_texts(view, challenge, text, Proof.of(view, challenge))
        names = public_files(view, challenge, places.values())
        if missing := listed("the bytes are gone of", sorted(names - contents.keys())):
            raise ChallengeError(f"{missing}; the public archive has all that boards follow from")
        derived: dict[str, Content] = {name: partial(iter, [text.encode()]) for name, text in texts.items()}
        return derived | {name: contents[name] for name in names}

    manifest = write_members(challenge, store, target, members)
    target.chmod(0o644)
    return manifest


def public_texts(view: Snapshot, challenge: Challenge, settings: str, proof: Proof) -> dict[str, str]:
    """The members of the archive that are derived, by name, given the settings that it has."""
    texts = {f"{PUBLIC}{name}": text for name, text in _documents(view, challenge, proof).items()}
    events = [event for event in view.all_events if event.index in proof.nonces]
    rows = ((event.index, event_text(event).decode("ascii")) for event in events)
    texts[PUBLIC_EVENTS] = table_text({"event": row, "index": at, "nonce": proof.nonces[at]} for at, row in rows)
    texts[SIGNED] = table_text({"receipt": proof.receipts[index]} for index in sorted(proof.receipts))
    texts[RESULTS] = table_text(_results(view, challenge, events))
    return texts | {f"{CHALLENGE}{FILE}": public_settings(settings, {})}


def public_files(view: Snapshot, challenge: Challenge, places: Iterable[str]) -> set[str]:
    """The names of the members that are files: those of the settings, solutions, lists and submissions."""
    bases = [basis for _, basis in bodies(view.all_events, BasisBody)]
    used = {digest for each in bases for digest in (*each.files.values(), each.excluded) if digest}
    submitted = present_digests(view) if challenge.publish_submissions else frozenset()
    files = {*(f"{CHALLENGE}{place}" for place in places), *(f"{SOLUTIONS}{digest}" for digest in used)}
    return files | {f"{SUBMISSIONS}{digest}" for digest in submitted}


def _files(challenge: Challenge, moved: Portable) -> tuple[dict[str, Content], Mapping[tuple[str, str], str]]:
    """The members for the files of a challenge, and the places of those that tracks name, also by URLs."""
    places = {key: place for key, place in moved.places.items() if key[1] not in ("submissions", "slices")}
    files = challenge_files(challenge, moved, solutions=True)
    for track in challenge.tracks:
        for key, path in track.files.items():
            if isinstance(path, Remote) and key != "slices":
                place = f"{OUTSIDE}/{track.name}/{key}/{path.name}"
                places[track.name, key], files[f"{CHALLENGE}{place}"] = place, partial(content_of_file, path)
    return files, places


def table_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """A member with one object a line."""
    return "".join(f"{encoded(row)}\n" for row in rows)


def _results(view: Snapshot, challenge: Challenge, events: Sequence[Event]) -> Iterator[Mapping[str, Any]]:
    """The results of submissions without bytes; those that were withdrawn have their places of a quota."""
    digests = {arrival.digest for _, arrival in bodies(events, ArrivalBody)}
    digests -= present_digests(view) if challenge.publish_submissions else set()
    used = {basis.solution for _, basis in bodies(events, BasisBody)}
    for row in dumped(view, RESULT_TABLE):
        if row["submission_digest"] in digests and row["solution_digest"] in used:
            yield row


def _check_recorded(view: Snapshot, by_files: Sequence[RuleSet]) -> None:
    """Raise ChallengeError if the record has a track that the files lack, or a file has other rules than the record."""
    names = {rules.track.name for rules in by_files}
    if lacking := sorted({event.track for event in view.all_events} - names - {EVERY_TRACK}):
        raise ChallengeError(
            f"the record has the {listed('track', lacking)}, which {FILE} lacks; restore its table: the archive has "
            "everything that the record has"
        )
    for rules in by_files:
        if differing := differing_from_record(view, rules):
            raise ChallengeError(
                f"{rules.track.name}: {', '.join(differing)} of the files differ from the record; restore them, or "
                "record them with `scorer run`, and rules in force with `scorer erratum`"
            )


def check_public(view: Snapshot, challenge: Challenge) -> None:
    """Raise ChallengeError if something that the public archive has is not public yet, or never."""
    is_secret = any(not commitment.is_revealed for commitment in commitments(view.all_events)[-1:])
    for track in challenge.tracks:
        check_over(view, track)
        split = split_of(track)
        if is_secret or (split is not None and not is_revealed(view, split)):
            raise ChallengeError(f"{track.name}: something is not revealed yet; `scorer reveal` reveals it")
        if hidden := sorted(Now.of(view, track).track.hidden):
            raise ChallengeError(
                f"{track.name}: the table [visibility] hides {', '.join(hidden)} from visitors, which the archive "
                "would show; so this challenge has no public archive"
            )
    if until := names_until(view, challenge.tracks):
        raise ChallengeError(
            f"the names of teams {'never become' if until == 'never' else 'are not'} public{shown_from(until)}, and "
            "events have them, whose hashes are in the log; so this challenge has no public archive"
        )
    for event, stated in bodies(view.all_events, MetadataBody):
        if "never" in stated.public.values():
            raise ChallengeError(
                f"event {event.index} has metadata that never become public; an event is public as a whole, so this "
                "challenge has no public archive"
            )


def public_settings(settings: str, places: Mapping[tuple[str, str], str]) -> str:
    """The part of challenge.toml that boards depend on, without its comments, and with the places of its files."""
    import tomlkit  # noqa: PLC0415 (only commands that write need it)

    document = tomllib.loads(settings)
    tracks = {
        name: {key: value for key, value in table.items() if key not in PRIVATE_KEYS}
        for name, table in document["tracks"].items()
    }
    for (name, key), place in places.items():
        table = tracks[name]["split"] if key == "key_file" else tracks[name]
        table[key] = place
    return tomlkit.dumps({key: document[key] for key in _KEYS if key in document} | {"tracks": tracks})


def differing_from_record(view: Snapshot, rules: RuleSet) -> list[str]:
    """The names of settings and files of a track that are not those of the record."""
    recorded = view.recorded_basis(rules.track.name)
    if recorded is None:
        return ["basis"]
    return [*differing_settings(rules, recorded), *(["phases"] if announcement(view, rules.track) else [])]


def _documents(view: Snapshot, challenge: Challenge, proof: Proof) -> dict[str, str]:
    """The files of the site that the archive has, by their paths."""
    tracks, cache, log = challenge.tracks, view.cache(), proof.log
    made = boards(view, tracks, cache, pending=True)
    errata = itertools.chain.from_iterable(timeline(view, tracks).errata.values())
    commitment = published_commitment(view, challenge, errata)
    proven: dict[str, Any] = {"receipts": proof.key}
    if commitment.last is not None:
        proven["nonce"] = proof.nonces[commitment.last.index]
        proven |= {"not_applied": [*proof.not_applied]} if proof.not_applied else {}
    files = commitment_files(commitment.model_copy(update=proven))
    files[LOG] = "".join(f"{line.text}\n" for line in log.lines)
    for board in made:
        data = track_data(challenge, board, log)
        names = (f"{board.track.name}/{name}" for name in (*BOARDS, "split.json"))
        files |= {name: data[name] for name in names if name in data}
    overall = overall_board(made, tracks, view, cache)
    if overall is not None:
        files |= {"overall/leaderboard.json": overall_json(overall, log.head)}
        files |= {"overall/leaderboard.csv": overall_csv(overall)}
    return files
