"""Verifies commitments, splits and receipts.

A commitment: solutions, rules and keys are those of before the start, or an erratum changed them. A split: which
queries are preliminary. The receipt of an entry: its signature, its event and its place in the log.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import Any, get_args

from scorer.errors import ScorerError, os_errors_as
from scorer.files import digest
from scorer.record.log import ABOUT_RECORD, LOG_TEXTS, LogLine, OfEntries, leaf_of, opened_content
from scorer.rules.split import QuerySplit, share, share_text
from scorer.store.documents import OF_BODY, CommitmentDocument, CommittedTrack, Receipt, SplitDocument
from scorer.verification.log import (
    LONGEST_QUOTE,
    Verified,
    compared,
    invalid,
    listed,
    lost_events,
    read_bytes,
    read_document,
    read_log,
    read_texts,
    until_end,
)
from scorer.wording import counted, iso_time, printable, quoted, shortened, utc_moment

_FILES = {
    "solution": "the solution",
    "items": "the list of items",
    "split": "the key of the split",
    "checked": "the second solution",
}
"""What errata change besides rules."""

HARMLESS = frozenset(
    {*get_args(OfEntries), *ABOUT_RECORD, "basis", "pick", "team", "reveal", "token", "preview", "cancellation"}
)
"""Kinds of events that change no rule and no phase. The basis changes rules only with an erratum before it. Each other
kind of event since the commitment must be in the document."""


def verified_commitment(
    path: Path,
    opening: Path | None = None,
    sha256: str | None = None,
    log: Path | None = None,
    key: Path | None = None,
    solution: Sequence[tuple[str, Path]] = (),
    split: Sequence[Path] = (),
    texts: Path | None = None,
) -> Iterator[Verified]:
    """Verify the commitment of a challenge, the file commitment.json of the site.

    Yields each statement of the documents. `opening` is the file commitment.txt; None: it is not published yet. The
    document is also compared with `sha256`, the commitment in an earlier copy; with log.jsonl, receipts.pem and files
    split.json of the site; and with solutions that the organiser published, by their tracks. `texts`, the file
    log-texts.jsonl of the site, says which events of the log are lost. Raises ScorerError if a file cannot be read, or
    is not such a document.
    """
    document = CommitmentDocument.read(path, read_document(path))
    if document.last is None:
        raise invalid(path, "commitments", "at least one commitment")
    yield from _without_opening(document, sha256, log, key, split, texts)
    if opening is None or not document.revealed:
        lacking = "not revealed yet; the organiser publishes it after the challenge"
        if document.revealed:
            lacking = "not verified; download commitment.txt and name it with --opening"
        yield Verified("the commitment is revealed", lacking)
        return
    text = read_bytes(opening)
    found, last = hashlib.sha256(text).hexdigest(), document.commitments[-1].sha256
    differs = f"its SHA-256 is {found}, the commitment is {last}"
    yield compared("the opening has the SHA-256 of the commitment", found == last, differs)
    content = _content(opening, text)
    yield Verified("the opening is that of this challenge and of this key of receipts", _other(document, content))
    if log is not None:
        lines = read_log(log)
        differs = _not_in_event(document, text, lines)
        yield until_end("the log has this opening in its event", document.commitments[-1].index, lines, differs)
    for track, committed in content["tracks"].items():
        yield from _track(document, track, committed)
    for track, file in solution:
        yield _solution(document, content, track, file)
    for name in sorted(document.tracks.keys() - content["tracks"].keys()):
        yield Verified(f"{name}: nothing was committed for this track, which was added later", kind="note")
    for file in split:
        yield from _split(document, content, file)


def _without_opening(
    document: CommitmentDocument,
    sha256: str | None,
    log: Path | None,
    key: Path | None,
    splits: Sequence[Path],
    texts: Path | None,
) -> Iterator[Verified]:
    """What can be verified before the commitment is revealed."""
    if sha256 is not None:
        yield Verified("the commitment is that of the earlier copy", _other_copy(document, sha256))
    if key is not None:
        public = read_public_key(key).hex()
        differs = f"the file has {public}, the document {document.receipts}"
        yield compared("the key of receipts is that of the document", public == document.receipts, differs)
    if log is not None:
        lines, what = read_log(log), ", errata and changes of phases" if document.revealed else " and errata"
        statement = f"the log has the commitments{what} of the document at their events, and no others"
        lost = {} if texts is None else lost_events(lines, read_texts(texts, lines))
        newest = max(index for index, _ in _stated(document))
        yield until_end(statement, newest, lines, _difference(document, lines, lost))
        unproven = [str(index) for index in document.not_applied if _seems_applied(lines, index)]
        if unproven:
            yield Verified(f"that the errata of the events {', '.join(unproven)} were not applied", kind="note")
    for file in splits:
        split = SplitDocument.read(file, read_document(file))
        track, of_split = split.track, split.key_sha256
        stated = document.tracks[track].key_sha256 if track in document.tracks else None
        statement = f"the key of the split of {track} has the SHA-256 of the document"
        yield compared(statement, of_split == stated, f"{file} has {of_split}, the document {stated}")


def _other_copy(document: CommitmentDocument, sha256: str) -> str:
    last = document.commitments[-1]
    if sha256 == last.sha256:
        return ""
    for commitment in document.commitments:
        if commitment.sha256 == sha256:
            return (
                f"it is that of event {commitment.index}; the challenge was committed again before its start, at event "
                f"{last.index}, as {last.sha256}"
            )
    return f"the document has {last.sha256}, the earlier copy {sha256}"


def _difference(document: CommitmentDocument, lines: Sequence[LogLine], lost: Mapping[int, LogLine]) -> str:
    """The first event that the document or the log has and the other one lacks; empty if they agree.

    The document has no event that was lost when a backup was restored.
    """
    applied, last = {erratum.index for erratum in document.errata}, document.commitments[-1].index
    stated = _stated(document)
    for index, kinds in sorted(stated):
        if index > len(lines):
            break
        if lines[index - 1].kind not in kinds:
            return f"event {index} has the kind {lines[index - 1].kind}, expected {' or '.join(kinds)}"
        if index in applied and not _seems_applied(lines, index):
            return f"event {index} is an erratum without a basis after it, which was not applied"
    indexes = {index for index, _ in stated}
    if len(indexes) < len(stated):
        return "the document has the same event twice"
    for line in lines:
        if line.index not in indexes | lost.keys() and _is_listed(document, line):
            return (
                f"event {line.index} has the kind {line.kind}, and the document does not have it; if the log is newer "
                "than the document, download both again"
            )
    if document.revealed and last < len(lines) and all(line.kind != "reveal" for line in lines[last:]):
        return f"no event after event {last} reveals the commitment; download the log again"
    return ""


def _stated(document: CommitmentDocument) -> list[tuple[int, tuple[str, ...]]]:
    """The indexes of the events that the document has, and the kinds that they may have."""
    stated: list[tuple[int, tuple[str, ...]]] = [(each.index, ("commitment",)) for each in document.commitments]
    stated += [(erratum.index, ("erratum",)) for erratum in document.errata]
    stated += [(index, ("erratum",)) for index in document.not_applied]
    return stated + [
        (index, ("phases", "extension")) for track in document.tracks.values() for index in track.rescheduled
    ]


def _is_listed(document: CommitmentDocument, line: LogLine) -> bool:
    """Whether the document must have an event of the log."""
    if line.index < document.commitments[-1].index:
        return line.kind == "commitment"
    if line.kind in ("phases", "extension"):
        return document.revealed
    return line.kind not in HARMLESS


def _seems_applied(lines: Sequence[LogLine], index: int) -> bool:
    """Whether an erratum has a basis after it, as each applied one has; another one has it only by chance."""
    return index < len(lines) and lines[index].kind == "basis"


def _content(path: Path, text: bytes) -> Mapping[str, Any]:
    """What the opening says. Raises ScorerError if it is no opening."""
    try:
        content = opened_content(text.decode("ascii"))
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


def _not_in_event(document: CommitmentDocument, text: bytes, lines: Sequence[LogLine]) -> str:
    """Why the event of the commitment in the log is another one; empty if it has this opening, or is not there."""
    last = document.commitments[-1]
    if last.index > len(lines):
        return ""
    if not document.event:
        return "the document does not have it"
    leaf, wanted = leaf_of(bytes.fromhex(document.nonce), document.event.encode("ascii")), lines[last.index - 1].leaf
    if leaf != wanted:
        return f"the leaf of the published event is {leaf.hex()}, that of the log {wanted.hex()}"
    try:
        event = json.loads(document.event)
        committed = (event["index"], event["kind"], event["body"]["sha256"], event["body"]["opening"])
        at = event["at"] and iso_time(datetime.fromisoformat(event["at"]))
    except (ValueError, RecursionError, KeyError, TypeError):
        return "the published event is no commitment"
    differs = (*committed, at) != (last.index, "commitment", last.sha256, text.decode("ascii", "replace"), last.at)
    return "the event has another index, kind, SHA-256, opening or time" if differs else ""


def _track(document: CommitmentDocument, track: str, committed: Mapping[str, Any]) -> Iterator[Verified]:
    """Whether the board of a track is based on what was committed, or on what the events of the document changed."""
    present = document.tracks.get(track)
    if present is None:
        yield Verified(f"{track}: the board is based on what was committed", "the document lacks this track")
        return
    named = {*committed, *(name for each in document.errata if each.track == track for name in each.changed)}
    needed = (name for name in CommittedTrack.model_fields if name != "checked" or name in named)
    lacking = [name for name in needed if name not in present.model_fields_set]
    if lacking:
        yield Verified(f"{track}: what the board is based on is published", listed("the document lacks", lacking))
        return
    before = {**committed["rules"], **committed, "split": (committed.get("split") or {}).get("key_sha256")}
    now = {**present.rules, **present.values(), "split": present.key_sha256}
    rules = {name for name in committed["rules"].keys() | present.rules.keys() if before.get(name) != now.get(name)}
    rules |= {name for each in document.errata if each.track == track for name in each.changed} - _FILES.keys()
    for name in (*_FILES, *sorted(rules)):
        if (before.get(name), now.get(name)) != (None, None) or name in rules:
            # The share of a split may have changed, and not the key.
            changes = [] if name == "split" and before[name] == now[name] else _errata(document, track, name)
            subject = f"{track}: {_FILES.get(name, f'the rule {name}')}"
            yield _unchanged(subject, before.get(name), now.get(name), changes)
    if not rules:
        yield Verified(f"{track}: the rules are those that were committed")
    events = [f"event {index}" for index in present.rescheduled]
    yield _unchanged(f"{track}: the list of phases", committed.get("phases"), present.phases, events)


def _errata(document: CommitmentDocument, track: str, name: str) -> list[str]:
    return [f"erratum {each.number}" for each in document.errata if each.track == track and name in each.changed]


def _unchanged(subject: str, committed: object, present: object, changes: Sequence[str]) -> Verified:
    """Whether a value is the committed one, given the changes that the document has."""
    statement = f"{subject} is the one that was committed"
    if committed == present:
        # Only a second change can take the first one back.
        return Verified(statement, f"the document says that {changes[0]} changed it" if len(changes) == 1 else "")
    if changes:
        return Verified(f"{subject} was changed by {changes[-1]} after the commitment")
    return Verified(statement, f"committed {_value(committed)}, now {_value(present)}, and the document has no change")


def _value(value: object) -> str:
    """A value of a document in a message: its JSON, shortened."""
    return shortened(json.dumps(value), LONGEST_QUOTE)


def _solution(document: CommitmentDocument, content: Mapping[str, Any], track: str, file: Path) -> Verified:
    """Whether a solution that the organiser published is the committed one, or the one of an erratum."""
    statement = f"{track}: {file.name} is the solution that was committed"
    if track not in content["tracks"]:
        return Verified(statement, f"nothing was committed for a track {quoted(track)}")
    sha256, committed = hashlib.sha256(read_bytes(file)).hexdigest(), content["tracks"][track]
    for name in ("solution", "checked"):
        if sha256 == committed.get(name):
            return Verified(f"{track}: {file.name} is {_FILES[name]} that was committed")
        changes = _errata(document, track, name)
        if changes and track in document.tracks and sha256 == getattr(document.tracks[track], name):
            return Verified(f"{track}: {file.name} is {_FILES[name]} of {changes[-1]}")
    return Verified(statement, f"its SHA-256 is {sha256}, committed was {committed.get('solution')}")


def _split(document: CommitmentDocument, content: Mapping[str, Any], file: Path) -> Iterator[Verified]:
    """Whether the key and the share of a split are the committed ones, or an erratum changed them."""
    split = SplitDocument.read(file, read_document(file))
    track = content["tracks"].get(split.track, {})
    committed = {**(track.get("split") or {}), "clusters": track.get("rules", {}).get("clusters") or ""}
    stated = [("key_sha256", split.key_sha256, "key"), ("preliminary", split.preliminary, "share")]
    for key, value, what in [*stated, *([("clusters", split.clusters, "pattern")] if split.clusters else [])]:
        changes = _errata(document, split.track, "split") if committed.get(key) != value else []
        yield _unchanged(f"{split.track}: the {what} of {file.name}", committed.get(key), value, changes)


def verified_split(
    path: Path, key_sha256: str | None = None, earlier: Path | None = None, queries: Path | Sequence[str] | None = None
) -> Iterator[Verified]:
    """Verify which queries of a track are preliminary, from the revealed key in its file split.json.

    Yields each statement of the file. It is compared with an `earlier` copy, or with `key_sha256`, the SHA-256 of the
    key in one, and with `queries`, the ids of all queries of the solution or a file with them; None is not compared.
    Raises ScorerError if a file is not such a document.
    """
    if isinstance(queries, Path):
        from scorer.lists.solution import read_ids  # noqa: PLC0415 (Arrow is slow to load)

        queries = [str(query) for query in read_ids(queries).to_pylist()]
    document = SplitDocument.read(path, read_document(path))
    published = document.key_sha256
    if key_sha256 is not None:
        differs = f"the file has {published}, the earlier copy {key_sha256}"
        yield compared("the SHA-256 of the key is that of the earlier copy", key_sha256 == published, differs)
    if earlier is not None:
        copy, values = read_document(earlier), document.values()
        changed = (
            key for key in ("track", "preliminary", "key_sha256", "clusters") if values.get(key) != copy.get(key)
        )
        yield Verified("track, share and SHA-256 of the key are those of the earlier copy", listed("changed:", changed))
    if not document.key:
        yield Verified("the key is revealed", "not revealed yet; the organiser publishes it after the challenge")
        return
    if document.queries is None:
        raise invalid(path, "queries", str(SplitDocument.model_fields["queries"].description))
    split = QuerySplit(document.track, share(document.preliminary), bytes.fromhex(document.key), document.clusters)
    differs = f"its SHA-256 is {split.key_sha256}, not {published}"
    yield compared("the key has the published SHA-256", split.key_sha256 == published, differs)
    preliminary, rest = document.queries.preliminary, document.queries.rest
    left_out = [not selected for selected in split.flags(preliminary)]
    count = counted(len(preliminary), "preliminary query", "preliminary queries")
    statement = f"with the share {share_text(split.preliminary)}, the key selects the {count}"
    yield Verified(statement, listed("does not select", compress(preliminary, left_out)))
    statement = f"the key selects none of the {counted(len(rest), 'other query', 'other queries')}"
    yield Verified(statement, listed("selects", compress(rest, split.flags(rest))))
    counts = Counter(preliminary + rest)
    yield Verified("no query is listed twice", listed("twice:", (query for query in counts if counts[query] > 1)))
    if earlier is None:
        yield Verified("the share was not compared with an earlier copy, nor with the commitment", kind="note")
    if queries is None:
        yield Verified("the lists were not compared with all queries of the solution", kind="note")
    else:
        lacking, added = (sorted(some) for some in (set(queries) - counts.keys(), counts.keys() - set(queries)))
        differences = filter(None, (listed("lacks", lacking), listed("adds", added)))
        yield Verified(
            f"the lists have the {counted(len(queries), 'query', 'queries')}, and no other", "; ".join(differences)
        )


def verified_receipt(
    path: Path, key: Path, log: Path | None = None, submission: Path | None = None, texts: Path | None = None
) -> Iterator[Verified]:
    """Verify the receipt of an entry with the file receipts.pem of the site.

    Yields each statement of the receipt. Without log.jsonl of the site, its place in the log is not verified; without
    log-texts.jsonl, `texts`, whether it was lost later; without the submission, the file is not compared. Raises
    ScorerError if a file cannot be read, or is not such a document.
    """
    public = read_public_key(key)
    message, line_end, signed = read_bytes(path).partition(b"\n")
    message += line_end
    yield Verified("the receipt is signed by the key", forged(public, message, signed))
    receipt = _read(path, message)
    event = receipt.event.encode("ascii")
    leaf = leaf_of(bytes.fromhex(receipt.nonce), event).hex()
    differs = f"the leaf of the event is {leaf}, not {receipt.leaf}"
    yield compared("the receipt has the leaf of its event", leaf == receipt.leaf, differs)
    yield Verified("the event says what the receipt says", _said_otherwise(receipt))
    if log is not None:
        lines = read_log(log)
        statement = f"the log has this leaf and this head at event {receipt.index}"
        yield until_end(statement, receipt.index, lines, _not_in_log(receipt, lines))
        yield from _still_there(receipt, lines, texts)
    if submission is not None:
        with os_errors_as(ScorerError, f"{submission}: cannot be read", "name the file that was submitted"):
            sha256 = digest(submission)
        differs = f"its SHA-256 is {sha256}, that of the entry {receipt.digest}"
        yield compared("the file is the one that was received", sha256 == receipt.digest, differs)
    received = receipt.received
    with suppress(ValueError):
        received = utc_moment(datetime.fromisoformat(received))
    phase = f"in the phase {printable(receipt.phase)}" if receipt.phase is not None else "in no phase"
    about = f"{printable(receipt.team)} handed in {printable(receipt.file)}, received {received}, {phase}"
    yield Verified(about, kind="note")


def read_public_key(path: Path) -> bytes:
    """The public key in a file. Raises ScorerError if it is another file."""
    from scorer.record.signatures import key_of_pem  # noqa: PLC0415 (it needs an optional extra)

    try:
        return key_of_pem(read_bytes(path))
    except ValueError as error:
        raise ScorerError(f"{path}: {error}; download receipts.pem again") from error


def forged(public: bytes, message: bytes, signed: bytes) -> str:
    """Why a text is not signed by a key, given the signature in Base64; empty if it is."""
    from scorer.record.signatures import is_signed  # noqa: PLC0415 (it needs an optional extra)

    text = signed.removesuffix(b"\n")
    try:
        decoded = base64.b64decode(text, validate=True)
    except binascii.Error:
        decoded = b""
    # Several texts decode to the same bytes; only one of them is the receipt.
    is_genuine = base64.b64encode(decoded) == text and is_signed(public, message, decoded)
    return "" if is_genuine else "the signature is wrong; what was signed was changed, or it was signed by another key"


def _read(path: Path, message: bytes) -> Receipt:
    """What the receipt says. Raises ScorerError if it is another document."""
    try:
        values = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: expected a receipt: a line of JSON, then a line with the signature") from error
    if not isinstance(values, dict) or (values.get("version"), "epoch" in values) not in ((1, False), (2, True)):
        raise ScorerError(f"{path}: expected a receipt of version 1 or 2; use the scorer that wrote it")
    return Receipt.read(path, values, "is this a receipt?")


def _said_otherwise(receipt: Receipt) -> str:
    """What the event says differently; empty if it says the same."""
    try:
        event = json.loads(receipt.event)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("body"), dict):
        return "the event is no JSON object with a body"
    said = {name: event.get(name) for name in ("index", "track", "kind")}
    said |= {name: event["body"].get(name) for name in OF_BODY}
    wanted = {"index": receipt.index, "track": receipt.track, "kind": "arrival"}
    wanted |= receipt.model_dump(include=set(OF_BODY))
    return "; ".join(
        f"{name}: the event has {quoted(str(said[name]))}, expected {quoted(str(value))}"
        for name, value in wanted.items()
        if said[name] != value
    )


def _not_in_log(receipt: Receipt, lines: Sequence[LogLine]) -> str:
    """What the log has at the index of the receipt instead; empty if it has the same, or ends before it."""
    index = receipt.index
    line = lines[min(index, len(lines)) - 1]
    if line.epoch > receipt.epoch:
        return f"the log is in epoch {line.epoch} there: the entry of epoch {receipt.epoch} {_LOST}"
    if index > len(lines):
        return ""
    values = {"version": line.version, "epoch": line.epoch, "index": line.index, "kind": line.kind}
    values |= {"leaf": line.leaf.hex(), "head": line.head.hex()}
    wanted = {"version": receipt.version, "epoch": receipt.epoch, "index": index, "kind": "arrival"}
    wanted |= {"leaf": receipt.leaf, "head": receipt.head}
    differing = [f"{name} {values[name]} instead of {value}" for name, value in wanted.items() if values[name] != value]
    return f"found {', '.join(differing)}" if differing else ""


_LOST = (
    "was lost when a backup was restored, and this receipt is void; hand in the file again, and show the organisers "
    "this receipt, which proves that they had it"
)


def _still_there(receipt: Receipt, lines: Sequence[LogLine], texts: Path | None) -> Iterator[Verified]:
    """Whether the entry was lost when a backup was restored after it; nothing if none was."""
    later = [line for line in lines[receipt.index :] if line.kind == "restored" and line.epoch > receipt.epoch]
    if later and texts is None:
        where = f"a backup was restored later, at event {later[0].index}"
        yield Verified(f"{where}: --texts {LOG_TEXTS} says whether the entry was lost", kind="note")
    elif later and texts is not None:
        by = lost_events(lines, read_texts(texts, lines)).get(receipt.index)
        loss = "" if by is None else f"in epoch {receipt.epoch} it {_LOST}; event {by.index} of the log says so"
        yield Verified("the entry is still in the record", loss)
