"""A dishonest organiser: changes a public archive, and computes again all that has to fit."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scorer.errors import ScorerError
from scorer.organising.derivation import verified_challenge
from scorer.record.signatures import signature
from scorer.verification.log import KnownHead
from tests.bundles import archive, members, with_manifest
from tests.public_archives import archived, decided
from tests.second_verifier import canonical, problems, sha256
from tests.strangers import chain

PUBLIC = "public/"


def table(rows: Iterable[object]) -> bytes:
    """A member with one object a line."""
    return "".join(f"{canonical(row)}\n" for row in rows).encode()


@dataclass
class Forger:
    """Has an archive, and the key that signs receipts."""

    members: dict[str, bytes]
    signing_key: bytes

    def __post_init__(self) -> None:
        self.lines: list[dict[str, Any]] = self.rows("log.jsonl")
        self.opened = {row["index"]: row for row in self.rows("events.jsonl")}
        self.events = {index: json.loads(row["event"]) for index, row in self.opened.items()}
        self.texts: dict[int, str] = {}
        self.change_manifest: Callable[[str], str] = str

    @property
    def head(self) -> str:
        return str(self.rows("log.jsonl")[-1]["head"])

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The objects in a document with one a line."""
        return [json.loads(line) for line in self.members[f"{PUBLIC}{name}"].splitlines()]

    def event(self, kind: str, team: str = "", number: int = 0) -> dict[str, Any]:
        """An event of a kind in the track `main`, or of the whole challenge."""
        found = [each for each in self.events.values() if each["kind"] == kind and each["track"] in ("main", "")]
        event: dict[str, Any] = [each for each in found if not team or each["body"].get("team") == team][number]
        return event

    def drop(self, *indexes: int) -> None:
        """Leave out events; all later ones have other indexes."""
        kept = [line for line in self.lines if line["index"] not in indexes]
        self._number([(line, self.events.get(line["index"]), self.opened.get(line["index"])) for line in kept])

    def add(self, before: int, kind: str, body: dict[str, Any], track: str = "main") -> None:
        """Add an event before another one."""
        rows = [(line, self.events.get(line["index"]), self.opened.get(line["index"])) for line in self.lines]
        event = {"at": self.events[before]["at"], "body": body, "kind": kind, "track": track}
        rows.insert(before - 1, ({"version": 2, "epoch": 1, "kind": kind}, event, {"nonce": "00" * 16}))
        self._number(rows)

    def _number(self, rows: list[tuple[Any, Any, Any]]) -> None:
        self.lines = [{**line, "index": index} for index, (line, _, _) in enumerate(rows, 1)]
        numbered = [(index, event, row) for index, (_, event, row) in enumerate(rows, 1) if event is not None]
        self.events = {index: {**event, "index": index} for index, event, _ in numbered}
        self.opened = {index: dict(row) for index, _, row in numbered}

    def hide(self, index: int) -> None:
        """Publish no text of an event."""
        del self.events[index], self.opened[index]

    def document(self, name: str, change: Callable[[Any], object]) -> None:
        value = json.loads(self.members[f"{PUBLIC}{name}"])
        change(value)
        self.members[f"{PUBLIC}{name}"] = (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()

    def store(self, folder: str, content: bytes) -> str:
        """Add a file; return its hash."""
        self.members[f"{folder}/{sha256(content)}"] = content
        return sha256(content)

    def signed(self, message: str) -> str:
        """A receipt that says this."""
        mark = base64.b64encode(signature(self.signing_key, message.encode())).decode()
        return f"{message}{mark}\n"

    def recompute(self, *, keeps_leaves: bool = False) -> None:
        """Write events, log, receipts, the event of the commitment, and the heads on the boards, so that they fit.

        `texts` has the texts of some events that are not those of their values.
        """
        receipts = {
            json.loads(row["receipt"].split("\n")[0])["file"]: row["receipt"] for row in self.rows("receipts.jsonl")
        }
        receipts = {file: json.loads(text.split("\n")[0]) for file, text in receipts.items()}
        template = next(iter(receipts.values()))
        old = {line["leaf"]: line["index"] for line in self.rows("log.jsonl")}
        moved = {old[line["leaf"]]: line["index"] for line in self.lines if line.get("leaf") in old}
        signed = []
        for line in self.lines:
            if event := self.events.get(line["index"]):
                row = self.opened[line["index"]]
                row |= {"event": self.texts.get(line["index"], canonical(event)), "index": line["index"]}
                event = json.loads(row["event"])
                if not keeps_leaves:
                    line["kind"] = event.get("kind", "")
                    line["leaf"] = sha256(b"\0" + bytes.fromhex(row["nonce"]) + row["event"].encode())
        chain(self.lines)
        for line in self.lines:
            row = self.opened.get(line["index"], {})
            event = json.loads(row.get("event", "{}"))
            if event.get("kind") == "arrival" and isinstance(event.get("body"), dict):
                body = {name: event["body"].get(name) for name in ("team", "file", "digest", "received")}
                text = template | receipts.get(body["file"], {}) | body | {"track": event.get("track"), **row}
                text |= {"leaf": line["leaf"], "head": line["head"]}
                message = f"{canonical(text)}\n"
                signed.append({"receipt": self.signed(message)})
        order = ("version", "epoch", "index", "kind", "leaf", "head")
        log = [json.dumps({key: line[key] for key in order}, separators=(",", ":")) for line in self.lines]
        self.members[f"{PUBLIC}log.jsonl"] = "".join(f"{line}\n" for line in log).encode()
        self.members[f"{PUBLIC}events.jsonl"] = table(self.opened.values())
        self.members[f"{PUBLIC}receipts.jsonl"] = table(signed)
        last = self.lines[-1]
        head = {"index": last["index"], "head": last["head"]}
        for track in ("main", "lists", "overall"):
            if f"{PUBLIC}{track}/leaderboard.json" in self.members:
                self.document(f"{track}/leaderboard.json", lambda board: board.update(log=head))

        self.document("commitment.json", partial(self._commit, moved))

    def _commit(self, moved: Mapping[int, int], document: dict[str, Any]) -> None:
        """Let commitment.json name the events as they are now."""
        for each in (*document["commitments"], *document["errata"]):
            each["index"] = moved.get(each["index"], each["index"])
        for track in document["tracks"].values():
            track["rescheduled"] = [moved.get(index, index) for index in track["rescheduled"] if index in moved]
        found = [event for event in self.events.values() if event["kind"] == "commitment"]
        if found and document.get("event"):
            row = self.opened[found[-1]["index"]]
            document |= {"event": row["event"], "nonce": row["nonce"]}

    def sealed(self) -> bytes:
        """The archive, whose manifest and whose end fit it."""
        lines = self.members.get(f"{PUBLIC}log.jsonl", b"").splitlines()
        last = json.loads(lines[-1]) if lines and lines[-1].startswith(b"{") else {}
        head = last.get("head", "0" * 64)
        found = with_manifest(self.members, events=len(lines), head=head)
        found["manifest.json"] = self.change_manifest(found["manifest.json"].decode()).encode()
        return archive(found)


def forger_of(folder: Path, table: str) -> Forger:
    """The archive of a challenge that is made in a folder, with one more table in its settings."""
    live = decided(folder / "live", table=table)
    target = archived(live, folder / "archive.zip")
    with live.store() as store:
        return Forger(members(target), store.read(lambda view: view.secret("receipts")))


def answers(archive: bytes, path: Path, head: str = "") -> tuple[list[str], list[str]]:
    """What `scorer verify challenge` and the second program find in an archive."""
    path.write_bytes(archive)
    known = KnownHead(bytes.fromhex(head)) if head else None
    try:
        by_scorer = [each.contradiction for each in verified_challenge(str(path), known) if each.contradiction]
    except ScorerError as error:  # no such archive
        by_scorer = [str(error)]
    return by_scorer, problems(path, head)
