"""What the record proves to others: signed receipts of entries, and what the organiser committed to before the
start.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scorer.live.errata import PublishedErratum
from scorer.live.now import Now, decides, public_to_all
from scorer.live.rules import rules_of_settings
from scorer.record.events import Event, bodies, event_text, log_lines
from scorer.record.log import LogLine, encoded, nonce_of, opened_content
from scorer.rules.phases import Phases, folded_phases
from scorer.settings.tracks import Challenge, Track
from scorer.store.documents import (
    OF_BODY,
    VERSION,
    CommitmentDocument,
    CommittedTrack,
    ListedCommitment,
    ListedErratum,
    Receipt,
    sent_name,
)
from scorer.store.events import CommitmentBody, RevealBody
from scorer.store.snapshot import Snapshot
from scorer.wording import iso_time

ENDINGS = re.compile(
    r"(?<=.)(\.(gz|xz|zst|bz2|zip|tar|tgz|txt|text|csv|tsv|jsonl?|ndjson|parquet|run|trec|res|results?|svm|dat|out))+$",
    re.IGNORECASE,
)
"""The known endings of names of files, which are no part of a name for a team or a run."""


def named(pattern: str, name: str) -> dict[str, str] | None:
    """The `team` and the `run` in a name of a file, without its time and known endings; None if it is not like this."""
    form = re.sub(r"\\\{(team|run)\\\}", r"(?P<\1>.+?)", re.escape(pattern))
    match = re.fullmatch(form, name, re.DOTALL)
    return match and match.groupdict()


def run_name(file: str, index: int, pattern: str | None) -> str:
    """The name of an entry, by that of its file and the key `file_names` of the track."""
    name = sent_name(file)
    if pattern is None:
        return name.partition(".")[0]
    if name == f"{index:06}.txt":  # the service received it without a name
        return f"entry {index}"
    stem = ENDINGS.sub("", name)
    return (named(pattern, stem) or {}).get("run", stem)


def receipts(view: Snapshot, challenge: str, indexes: set[int]) -> Mapping[int, str]:
    """The receipts of entries by the indexes of their arrivals, given a snapshot with all events."""
    issuer = Issuer(challenge, view.secret("log"), view.secret("receipts"))
    issuer.follow(view.events())
    return {event.index: issuer.receipt(event) for event in view.events() if event.index in indexes}


@dataclass(slots=True)
class Issuer:
    """Issues the receipts of the entries of a challenge.

    A receipt depends only on the record until its entry and on the name of the challenge, so it is always the same.
    """

    challenge: str
    log_key: bytes
    signing_key: bytes
    _lines: list[LogLine] = field(default_factory=list)
    """Of the log, for each event."""
    _dates: list[Event] = field(default_factory=list)
    """The events about phases."""

    def follow(self, events: Sequence[Event]) -> None:
        """Take the events that were recorded since; `events` are all of the record."""
        new = events[len(self._lines) :]
        self._lines += log_lines(self.log_key, new, self._lines[-1] if self._lines else None)
        self._dates += (event for event in new if event.kind in ("phases", "extension"))

    def receipt(self, event: Event) -> str:
        """The receipt of an entry, given its arrival, which was followed."""
        from scorer.record.signatures import signature  # noqa: PLC0415 (cryptography is slow to load)

        dates = (date for date in self._dates if date.track == event.track and date.index < event.index)
        nonce = nonce_of(self.log_key, event.index, event_text(event)).hex()
        text = receipt_text(self.challenge, event, folded_phases(dates), nonce, self._lines[event.index - 1])
        signed = base64.b64encode(signature(self.signing_key, text.encode("ascii")))
        return f"{text}{signed.decode('ascii')}\n"


def receipt_text(challenge: str, event: Event, phases: Phases, nonce: str, line: LogLine) -> str:
    """What the receipt of an entry says and what is signed, given its arrival and its line in the log."""
    values = event.values
    phase, place = phases.place(datetime.fromisoformat(values["received"]))
    facts: dict[str, Any] = {} if line.version == 1 else {"epoch": line.epoch}
    receipt = Receipt(
        version=line.version,
        challenge=challenge,
        track=event.track,
        **facts | {name: values[name] for name in OF_BODY},
        phase=phase if place == "ok" else None,
        index=event.index,
        event=event_text(event).decode("ascii"),
        nonce=nonce,
        leaf=line.leaf.hex(),
        head=line.head.hex(),
    )
    return f"{encoded(receipt.values())}\n"


@dataclass(frozen=True, slots=True)
class Commitment:
    """What the organiser committed to."""

    index: int
    """Of its event."""
    at: datetime | None
    """When it was recorded, in UTC."""
    sha256: str
    """Of the opening, in hexadecimal; public from the beginning."""
    opening: str
    """Secret until it is revealed."""
    is_revealed: bool

    @property
    def content(self) -> Mapping[str, Any]:
        """The content of the opening."""
        return opened_content(self.opening)


def commitments(events: Iterable[Event]) -> tuple[Commitment, ...]:
    """The commitments among the events of the whole challenge, in their order; the last one is in force."""
    all_events = list(events)
    revealed = {reveal.commitment for _, reveal in bodies(all_events, RevealBody)}
    return tuple(
        Commitment(event.index, event.at, body.sha256, body.opening, body.sha256 in revealed)
        for event, body in bodies(all_events, CommitmentBody)
    )


COMMITMENT = "commitment.json"
OPENING = "commitment.txt"
RECEIPTS = "receipts.pem"
"""Files of the site: the commitments, the opening of the last one, and the public key of receipts."""


def published_commitment(
    view: Snapshot, challenge: Challenge, errata: Iterable[PublishedErratum]
) -> CommitmentDocument:
    """What is public about the commitments of a challenge, given the errata that visitors may see of all tracks.

    Until the last one is revealed, the document says nothing about the solutions.
    """
    from scorer.record.signatures import public_key  # noqa: PLC0415 (as above)

    events = public_to_all(view, challenge.tracks).events()
    made = commitments(events)
    facts: dict[str, Any] = {}
    previewed = [event.index for event in events if event.kind == "erratum" and not decides(event)]
    if made and previewed:
        facts["not_applied"] = previewed
    if made and made[-1].is_revealed:
        text = next(event_text(event) for event in events if event.index == made[-1].index)
        facts["event"] = text.decode("ascii")
        facts["nonce"] = nonce_of(view.secret("log"), made[-1].index, text).hex()
        facts["opening"] = made[-1].opening
    return CommitmentDocument(
        version=VERSION,
        challenge=challenge.name,
        commitments=[
            ListedCommitment(sha256=each.sha256, index=each.index, at=iso_time(each.at) if each.at else None)
            for each in made
        ],
        receipts=public_key(view.secret("receipts")).hex(),
        tracks=dict(_tracks(view, challenge.tracks, made[-1])) if made else {},
        errata=[
            ListedErratum(track=each.track, number=each.number, index=each.index, changed=list(each.names))
            for each in errata
        ],
        revealed=bool(made) and made[-1].is_revealed,
        **facts,
    )


def _tracks(view: Snapshot, tracks: Sequence[Track], last: Commitment) -> Iterator[tuple[str, CommittedTrack]]:
    for track in tracks:
        now = Now.of(view, track)
        recorded = now.public.recorded
        if recorded is None:
            continue
        if not last.is_revealed:
            yield track.name, CommittedTrack(key_sha256=recorded.key_sha256)
            continue
        plan = now.phases
        yield (
            track.name,
            CommittedTrack(
                key_sha256=recorded.key_sha256,
                **recorded.files,
                rules=dict(rules_of_settings(recorded.settings or {})),
                phases=[phase.recorded() for phase in plan.all],
                rescheduled=[change.index for change in plan.decisions if change.index > last.index],
            ),
        )
