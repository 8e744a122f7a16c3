"""Verifies a commitment: solutions, rules and keys are those of before the start, or an erratum changed them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.challenge.splits import SHA256
from scorer.errors import ScorerError
from scorer.store.log import leaf_of
from scorer.store.opening import content_of
from scorer.verification.commitment_document import CommitmentDocument
from scorer.verification.log import read_log, too_short
from scorer.verification.receipt import read_key
from scorer.verification.statement import Verified, invalid, read_bytes, read_document, text_of
from scorer.wording import quoted, shortened

SHOWN = 120
"""Characters of a value that a message has at most."""


@dataclass(frozen=True, slots=True)
class Public:
    """What is compared with the document, besides its opening; empty or None: it is not compared."""

    sha256: str | None = None
    """The commitment in an earlier copy."""
    log: Path | None = None
    """The file log.jsonl of the site."""
    key: Path | None = None
    """The file receipts.pem of the site."""
    solutions: Sequence[tuple[str, Path]] = ()
    """Tracks, and the solutions that the organiser published."""
    splits: Sequence[Path] = ()
    """Files split.json of the site."""


def verified_commitment(path: Path, opening: Path | None = None, public: Public = Public()) -> Iterator[Verified]:
    """Verify the commitment of a challenge.

    Parameters
    ----------
    path
        The file commitment.json of the site.
    opening
        The file commitment.txt of the site; None: it is not published yet.
    public
        What else is compared.

    Yields
    ------
    Each statement of the documents.

    Raises
    ------
    ScorerError
        A file cannot be read, or is not such a document.
    """
    document = CommitmentDocument.read(path)
    yield from _without_opening(document, public)
    if opening is None:
        lacking = "not revealed yet; the organiser publishes it after the challenge"
        if document.is_revealed:
            lacking = "not verified; download commitment.txt and name it with --opening"
        yield Verified("the commitment is revealed", lacking)
        return
    text = read_bytes(opening)
    found, last = hashlib.sha256(text).hexdigest(), document.commitments[-1].sha256
    differs = "" if found == last else f"its SHA-256 is {found}, the commitment is {last}"
    yield Verified("the opening has the SHA-256 of the commitment", differs)
    content = _content(opening, text)
    yield Verified("the opening is that of this challenge and of this key of receipts", _other(document, content))
    if public.log is not None and document.event:
        yield Verified("the log has this opening in its event", _not_in_event(document, text, public.log))
    for track, committed in content["tracks"].items():
        yield from _track(document, track, committed)
    for track, file in public.solutions:
        yield _solution(document, content, track, file)
    for file in public.splits:
        yield _split(content, file)


def _without_opening(document: CommitmentDocument, public: Public) -> Iterator[Verified]:
    """What can be verified before the commitment is revealed."""
    if public.sha256 is not None:
        yield Verified("the commitment is that of the earlier copy", _other_copy(document, public.sha256))
    if public.key is not None:
        found = read_key(public.key).hex()
        differs = "" if found == document.receipts else f"the file has {found}, the document {document.receipts}"
        yield Verified("the key of receipts is that of the document", differs)
    if public.log is not None:
        yield Verified(
            "the log has the commitments, errata and changes of phases at their events",
            _not_in_log(document, public.log),
        )
    for file in public.splits:
        split = read_document(file)
        track, key = str(split.get("track")), text_of(file, split, "key_sha256", SHA256)
        stated = document.tracks.get(track, {}).get("key_sha256")
        differs = "" if key == stated else f"{file} has {key}, the document {stated}"
        yield Verified(f"the key of the split of {track} has the SHA-256 of the document", differs)


def _other_copy(document: CommitmentDocument, sha256: str) -> str:
    last = document.commitments[-1]
    if sha256 == last.sha256:
        return ""
    for each in document.commitments:
        if each.sha256 == sha256:
            return (
                f"it is that of event {each.index}; the challenge was committed again before its start, at event "
                f"{last.index}, as {last.sha256}"
            )
    return f"the document has {last.sha256}, the earlier copy {sha256}"


def _not_in_log(document: CommitmentDocument, log: Path) -> str:
    """What the log has instead; empty if it has all commitments, no other ones, all errata and changes of phases."""
    lines = read_log(log)
    stated: dict[int, tuple[str, ...]] = {each.index: ("commitment",) for each in document.commitments}
    stated |= {int(each["index"]): ("erratum",) for each in document.errata}
    stated |= {index: ("phases", "extension") for track in document.tracks for index in document.rescheduled(track)}
    for index, kinds in sorted(stated.items()):
        if index > len(lines):
            return too_short(len(lines))
        if lines[index - 1].kind not in kinds:
            return f"event {index} has the kind {lines[index - 1].kind}, expected {' or '.join(kinds)}"
    other = [line.index for line in lines if line.kind == "commitment" and line.index not in stated]
    return f"event {other[0]} is a commitment that the document does not list" if other else ""


def _content(path: Path, text: bytes) -> Mapping[str, Any]:
    """What the opening says. Raises ScorerError if it is no opening."""
    try:
        content = content_of(text.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: expected the opening of a commitment; found a file that {error}") from error
    tracks = content.get("tracks")
    if not isinstance(tracks, dict) or not all(isinstance(track, dict) for track in tracks.values()):
        raise invalid(path, "tracks", "an object for each track")
    for track in tracks.values():
        if not isinstance(track.get("rules"), dict) or not isinstance(track.get("split"), dict | None):
            raise invalid(path, "tracks", "the rules and the split of each track")
    return content


def _other(document: CommitmentDocument, content: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name}: the opening has {_value(content.get(name))}, the document {_value(value)}"
        for name, value in (("challenge", document.challenge), ("receipts", document.receipts))
        if content.get(name) != value
    )


def _not_in_event(document: CommitmentDocument, text: bytes, log: Path) -> str:
    """Why the event of the commitment in the log is another one; empty if it has this opening."""
    lines, last = read_log(log), document.commitments[-1]
    if last.index > len(lines):
        return too_short(len(lines))
    leaf, wanted = leaf_of(bytes.fromhex(document.nonce), document.event.encode("ascii")), lines[last.index - 1].leaf
    if leaf != wanted:
        return f"the leaf of the published event is {leaf.hex()}, that of the log {wanted.hex()}"
    try:
        event = json.loads(document.event)
        committed = (event["index"], event["kind"], event["body"]["sha256"], event["body"]["opening"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return "the published event is no commitment"
    differs = committed != (last.index, "commitment", last.sha256, text.decode("ascii", "replace"))
    return "the event has another index, kind, SHA-256 or opening" if differs else ""


def _track(document: CommitmentDocument, track: str, committed: Mapping[str, Any]) -> Iterator[Verified]:
    """Whether the board of a track is based on what was committed, or on what errata changed since."""
    present = document.tracks.get(track)
    if present is None:
        yield Verified(f"{track}: the board is based on what was committed", "the document lacks this track")
        return
    for name, what in (("solution", "the solution"), ("items", "the list of items")):
        if name in present and (committed.get(name), present[name]) != (None, None):
            yield _unchanged(document, track, name, f"{what} is", committed.get(name), present[name])
    for name in ("solution", "rules", "phases"):
        if name not in present:
            yield Verified(f"{track}: the {name} of the board are published", "the document does not have them")
    if isinstance(present.get("rules"), dict):
        yield from _rules(document, track, committed["rules"], present["rules"])
    if "phases" in present:
        yield _phases(document, track, committed.get("phases"), present["phases"])
    key = _committed_key(committed)
    if (key, present.get("key_sha256")) != (None, None):
        yield _unchanged(document, track, "split", "the key of the split is", key, present.get("key_sha256"))


def _rules(
    document: CommitmentDocument, track: str, committed: Mapping[str, Any], present: Mapping[str, Any]
) -> Iterator[Verified]:
    """Whether the rules of a track are the committed ones, or errata changed them."""
    names = sorted(name for name in committed.keys() | present.keys() if committed.get(name) != present.get(name))
    for name in names:
        yield _unchanged(document, track, name, f"the rule {name} is", committed.get(name), present.get(name))
    if not names:
        yield Verified(f"{track}: the rules are those that were committed")


def _phases(document: CommitmentDocument, track: str, committed: object, present: object) -> Verified:
    """Whether the phases of a track are the committed ones, or an event of the log changed them."""
    statement = f"{track}: the phases are those that were committed"
    if committed == present:
        return Verified(statement)
    events = document.rescheduled(track)
    if events:
        return Verified(f"{statement}, or were changed at event {events[-1]}")
    return Verified(statement, f"committed {_value(committed)}, now {_value(present)}, and no event says so")


def _committed_key(committed: Mapping[str, Any]) -> object:
    """The SHA-256 of the committed key of a split; None without one."""
    return (committed.get("split") or {}).get("key_sha256")


def _unchanged(
    document: CommitmentDocument, track: str, name: str, subject: str, committed: object, present: object
) -> Verified:
    statement = f"{track}: {subject} the one that was committed"
    if committed == present:
        return Verified(statement)
    errata = document.errata_of(track, name)
    if errata:
        return Verified(f"{statement}, or was changed by erratum {errata[-1]}")
    return Verified(
        statement,
        f"committed {_value(committed)}, the board is based on {_value(present)}, and no erratum says so",
    )


def _value(value: object) -> str:
    """A value of a document in a message: its JSON, shortened."""
    return shortened(json.dumps(value), SHOWN)


def _solution(document: CommitmentDocument, content: Mapping[str, Any], track: str, file: Path) -> Verified:
    """Whether the solution that the organiser published is the committed one, or the one of an erratum."""
    statement = f"{track}: {file.name} is the solution that was committed"
    if track not in content["tracks"]:
        return Verified(statement, f"nothing was committed for a track {quoted(track)}")
    found, committed = hashlib.sha256(read_bytes(file)).hexdigest(), content["tracks"][track].get("solution")
    if found == committed:
        return Verified(statement)
    errata = document.errata_of(track, "solution")
    if errata and found == document.tracks.get(track, {}).get("solution"):
        return Verified(f"{track}: {file.name} is the solution of erratum {errata[-1]}")
    return Verified(statement, f"its SHA-256 is {found}, committed was {committed}")


def _split(content: Mapping[str, Any], file: Path) -> Verified:
    """Whether the key of a split is the committed one."""
    split = read_document(file)
    track, key = str(split.get("track")), text_of(file, split, "key_sha256", SHA256)
    committed = _committed_key(content["tracks"].get(track, {}))
    differs = "" if key == committed else f"its SHA-256 is {key}, committed was {committed}"
    return Verified(f"{track}: the key of {file.name} is the one that was committed", differs)
