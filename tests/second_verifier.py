"""A second program that verifies the public archive of a challenge, written from docs/verification-spec.md only.

It imports nothing of scorer. `problems` returns what is wrong with an archive; empty if its boards follow from it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import hmac
import io
import json
import math
import sys
import tomllib
import zipfile
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key


class WrongError(Exception):
    """What is wrong with an archive."""


def need(is_true: object, wrong: str) -> None:
    """Raise an error unless something is true."""
    if not is_true:
        raise WrongError(wrong)


def sha256(content: bytes) -> str:
    """The hash of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


@dataclass
class Entry:
    """An entry of a track."""

    team: str
    file: str
    digest: str
    received: datetime
    index: int
    absent_at: datetime | None
    recorded: datetime | None
    present: bool = True
    state: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    """The preliminary and the final score; empty for a rejected submission."""


class Archive:
    """An archive that is read and verified in the order of the specification."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                comment = archive.comment.decode("ascii", "replace")
                infos = archive.infolist()
                self.members = {info.filename: archive.read(info) for info in infos}
        except zipfile.BadZipFile as error:
            raise WrongError("not an archive") from error
        need(comment == f"sha256:{sha256(content[: -len(comment)])}", "bytes were changed")
        need(len(self.members) == len(infos), "a member is there twice")
        self.manifest = json.loads(self.members.pop("manifest.json"))
        need({name: sha256(data) for name, data in self.members.items()} == self.manifest["members"], "members")
        for name, data in self.members.items():
            folder, _, rest = name.partition("/")
            need(folder not in ("solutions", "submissions") or rest == sha256(data), f"{name} has other bytes")

    def lines(self, name: str) -> list[Any]:
        """The objects in a member with one a line."""
        return [json.loads(line) for line in self.members[name].decode().splitlines()]

    def verify(self, head: str) -> None:
        """Verify all. Raises WrongError."""
        self.check_log(head)
        self.check_receipts()
        settings = tomllib.loads(self.members["challenge/challenge.toml"].decode())
        self.check_commitment(settings)
        for name, table in settings["tracks"].items():
            Board(self, name, table).verify()

    def check_log(self, head: str) -> None:
        """The chain, and the published events in it."""
        self.log = self.lines("public/log.jsonl")
        before, heads, version, epoch = bytes(32), [], self.log[0].get("version", 1), 1
        for number, line in enumerate(self.log, 1):
            *stated, last = list(line)
            content = b"\x01" + before + bytes.fromhex(line["leaf"])
            epoch += line["kind"] == "restored"
            need((line["kind"] == "log") == (line.get("version", 1) > version), f"the version of event {number}")
            if line.get("version", 1) == 2:
                covered = json.dumps({key: line[key] for key in stated}, separators=(",", ":"))
                content = b"\x02" + before + covered.encode("ascii")
                need(stated[:2] == ["version", "epoch"] and line["epoch"] == epoch, f"the epoch of event {number}")
                stated, version = stated[2:], 2
            need(version == line.get("version", 1), f"the version of event {number}")
            need([*stated, last] == ["index", "kind", "leaf", "head"] and line["index"] == number, f"line {number}")
            before = hashlib.sha256(content).digest()
            need(before.hex() == line["head"], f"the head of event {number}")
            heads.append(line["head"])
        need(self.manifest["events"] == len(heads) and self.manifest["head"] == heads[-1], "the head in the manifest")
        need(not head or head in heads, "the log does not have the head that was kept")
        self.opened = {row["index"]: row for row in self.lines("public/events.jsonl")}
        need(len(self.opened) == len(self.lines("public/events.jsonl")), "an event is published twice")
        need(all(index in range(1, len(heads) + 1) for index in self.opened), "an event that the log does not have")
        restored = [json.loads(row["event"]) for row in self.opened.values() if '"kind":"restored"' in row["event"]]
        ranges = [(each["body"]["from"] + 1, each["body"]["to"], each["index"]) for each in restored]
        need(all(0 < first <= last + 1 <= index for first, last, index in ranges), "the events that were lost")
        self.lost = {index for first, last, _ in ranges for index in range(first, last + 1)}
        """Of these no text is published; whether the boards would be others with them is not verified."""
        self.events = []
        for line in self.log:
            row = self.opened.get(line["index"])
            if row is None:
                secret = ("token", "preview", "cancellation") if "version" in line else ("token", "erratum")
                need(line["kind"] in secret or line["index"] in self.lost, f"event {line['index']} is not published")
                continue
            nonce, text = bytes.fromhex(row["nonce"]), row["event"].encode("ascii")
            need(sha256(b"\x00" + nonce + text) == line["leaf"], f"the text of event {line['index']}")
            event = json.loads(text)
            need((event["index"], event["kind"]) == (line["index"], line["kind"]), f"event {line['index']} is another")
            self.events.append(event)
            if event["kind"] == "log":
                kinds = "".join(f"{each['kind']}\n" for each in self.log[: line["index"] - 1])
                need(event["body"]["kinds"] == sha256(kinds.encode()), "the kinds of the events of version 1")

    def of(self, track: str, *kinds: str) -> list[Any]:
        """The events of some kinds of a track."""
        return [event for event in self.events if event["kind"] in kinds and event["track"] in (track, "")]

    def check_receipts(self) -> None:
        """Each arrival has a receipt, which is signed."""
        key = load_pem_public_key(self.members["public/receipts.pem"])
        assert isinstance(key, Ed25519PublicKey)
        arrivals = {event["index"] for event in self.events if event["kind"] == "arrival"}
        for row in self.lines("public/receipts.jsonl"):
            message, end, signed = row["receipt"].partition("\n")
            receipt = json.loads(message)
            index = receipt["index"]
            need(index in self.opened, f"the receipt of event {index}")
            try:
                key.verify(base64.b64decode(signed), (message + end).encode())
            except InvalidSignature as error:
                raise WrongError(f"the signature of the receipt of event {index}") from error
            stated = {**self.opened[index], **self.log[index - 1]}
            names = ("event", "nonce", "leaf", "head", "epoch", "version")
            stated = {"version": 1, "epoch": 1} | stated
            need(all({"epoch": 1, **receipt}[name] == stated[name] for name in names), f"receipt {index}")
            arrivals.discard(index)
        need(not arrivals, f"there is no receipt of the events {sorted(arrivals)}")

    def check_commitment(self, settings: Any) -> None:
        """The opening, and what the boards are based on."""
        if "public/commitment.json" not in self.members:
            return
        last = json.loads(self.members["public/commitment.json"])["commitments"][-1]
        opening = self.members["public/commitment.txt"]
        need(sha256(opening) == last["sha256"], "the opening of the commitment")
        (body,) = [event["body"] for event in self.events if event["index"] == last["index"]]
        need((body["sha256"], body["opening"]) == (last["sha256"], opening.decode()), "the event of the commitment")
        after = [event for event in self.events if event["kind"] == "commitment" and event["index"] > last["index"]]
        need(not after, "a later commitment")
        first, _, text = opening.decode().partition("\n")
        need(first == "scorer-commitment-v1", "the opening")
        committed = json.loads(text)
        for name, track in committed["tracks"].items():
            need(name in settings["tracks"], f"the track {name} is missing")
            basis = self.of(name, "basis")[-1]["body"]
            if not self.of(name, "erratum"):
                split = basis["settings"]["split"]
                stated = split and {key: split[key] for key in ("preliminary", "key_sha256")}
                need(basis["solution"] == track["solution"], f"{name}: the solution is not the committed one")
                need(stated == track["split"], f"{name}: the split is not the committed one")
                for rule, value in track["rules"].items():
                    need(basis["settings"].get(rule) == value, f"{name}: the rule {rule} is not the committed one")


class Board:
    """The board of a track, derived from the archive."""

    def __init__(self, archive: Archive, name: str, table: Any) -> None:
        self.archive, self.name, self.table = archive, name, table
        self.basis = archive.of(name, "basis")[-1]["body"]
        self.settings = self.basis["settings"]
        self.solution: dict[str, dict[str, float]] = {}
        self.flagged = set()
        for line in archive.members[f"solutions/{self.basis['solution']}"].decode().splitlines():
            query, flag, items = line.split(":")
            pairs = (item.rpartition("|") for item in items.split(",") if item)
            self.solution[query] = {item: float(grade) for item, _, grade in pairs}
            self.flagged |= {query} if flag == "1" else set()

    def verify(self) -> None:
        """Compare the derived board with the published one. Raises WrongError."""
        self.check_split()
        entries = self.entries()
        self.admit(entries)
        names = {event["body"]["team"]: event["body"]["settings"].get("name") for event in self.archive.of("", "team")}
        rows, ranked = [], []
        for team in dict.fromkeys(entry.team for entry in entries if entry.present):
            own = [entry for entry in entries if entry.team == team and entry.present]
            chosen = self.counting(team, [entry for entry in own if entry.state == "counts"])
            is_baseline = team in self.settings["baselines"]
            last = max(entry.received for entry in own)
            rows.append((names.get(team) or team, is_baseline, chosen, len(own), last))
            ranked += [] if is_baseline or chosen is None else [chosen.scores["all"]]
        wanted = {}
        for team, is_baseline, chosen, count, last in rows:
            is_ranked = chosen is not None and not is_baseline
            rank = 1 + sum(score > chosen.scores["all"] for score in ranked) if is_ranked and chosen else None
            scores = (chosen.scores["all"], chosen.scores["preliminary"]) if chosen else (None, None)
            wanted[team] = (rank, is_baseline, *scores, count, last.strftime("%Y-%m-%dT%H:%M:%SZ"))
        primary = self.settings["primary"]
        columns = ("rank", "baseline", primary, f"preliminary {primary}", "entries", "last entry")
        board = json.loads(self.archive.members[f"public/{self.name}/leaderboard.json"])
        last_line = self.archive.log[-1]
        need(board["log"] == {"index": last_line["index"], "head": last_line["head"]}, "the head on the board")
        found = {row["team"]: tuple(row.get(column) for column in columns) for row in board["rows"]}
        need(found == wanted, f"{self.name}: published {found}, derived {wanted}")
        order = [row["rank"] for row in board["rows"] if row["rank"]]
        need(order == sorted(order), f"{self.name}: the order of the rows")
        text = self.archive.members[f"public/{self.name}/leaderboard.csv"].decode()
        table = list(csv.DictReader(io.StringIO(text, newline="")))
        need([line["team"] for line in table] == [row["team"] for row in board["rows"]], "the rows of the CSV")
        for line, row in zip(table, board["rows"], strict=True):
            need(set(line) == set(board["columns"]), f"{self.name}: the columns of the CSV")
            for column, text in line.items():
                need(text == shown(row[column], column), f"{self.name}: {column} of {row['team']} in the CSV")

    def check_split(self) -> None:
        """Which queries are preliminary."""
        split = self.settings["split"]
        if split is None:
            return
        document = json.loads(self.archive.members[f"public/{self.name}/split.json"])
        key = bytes.fromhex(document["key"])
        need(sha256(key) == document["key_sha256"] == split["key_sha256"], f"{self.name}: the key of the split")
        need(document["preliminary"] == split["preliminary"], f"{self.name}: the share of the split")
        limit = Fraction(split["preliminary"]) * 2**64
        for query in self.solution:
            digest = hmac.digest(key, f"{self.name}\0{query}".encode(), "sha256")
            self.flagged |= {query} if int.from_bytes(digest[:8], "big") < limit else set()
        lists = document["queries"]
        need(sorted(lists["preliminary"]) == sorted(self.flagged), f"{self.name}: the preliminary queries")
        need(sorted(lists["rest"]) == sorted(self.solution.keys() - self.flagged), f"{self.name}: the other queries")

    def phases(self) -> list[list[Any]]:
        """The name, the start, the end and the grace of each phase by the record."""
        found: list[list[Any]] = []
        for event in self.archive.of(self.name, "phases", "extension"):
            body = event["body"]
            if event["kind"] == "phases":
                times = [(at(each["start"]), at(each["end"]), timedelta(0, each["grace"])) for each in body["phases"]]
                found = [[each["name"], *time] for each, time in zip(body["phases"], times, strict=True)]
            for phase in found:
                if event["kind"] == "extension" and phase[0] == body["phase"]:
                    phase[2] = at(body["end"])
        return found

    def entries(self) -> list[Entry]:
        """The entries by the record, in its order."""
        found: dict[tuple[str, str], Entry] = {}
        for event in self.archive.of(self.name, "arrival", "withdrawal", "return", "amendment"):
            body = event["body"]
            key = body["file"], body["digest"]
            if event["kind"] == "arrival":
                absent = at(body["absent_at"]) if body.get("absent_at") else None
                recorded = at(event["at"]) if event["at"] else None
                entry = Entry(body["team"], *key, at(body["received"]), event["index"], absent, recorded)
                need(key not in found, f"event {event['index']}: the same entry again")
                found[key] = entry
            else:
                need(key in found, f"event {event['index']}: an entry that never arrived")
                entry = found[key]
            if event["kind"] == "amendment":
                entry.received, entry.absent_at = at(body["received"]), None
            elif event["kind"] != "arrival":
                entry.present = event["kind"] == "return"
                entry.digest *= not body.get("unscored")
        return list(found.values())

    def admit(self, entries: list[Entry]) -> None:
        """Score entries in the order of the record, and say which may count."""
        phases, taken = self.phases(), Counter[object]()
        quota = self.settings["quota"]
        zone = ZoneInfo(quota["zone"])
        limits = {"day": quota["per_day"], "phase": quota["per_phase"], "total": quota["total"]}

        for entry in entries:
            is_baseline = entry.team in self.settings["baselines"]
            where, day = place(phases, entry.received), entry.received.astimezone(zone).date()
            if not is_baseline and where[1] != "ok":
                entry.state = where[1]
            if not is_baseline and entry.absent_at is not None and entry.received < entry.absent_at:
                is_other_day = limits["day"] is not None and entry.absent_at.astimezone(zone).date() != day
                if where != place(phases, entry.absent_at) or (where[1] == "ok" and is_other_day):
                    entry.state = "misdated"
            if entry.recorded and not is_baseline and entry.received > entry.recorded + timedelta(minutes=5):
                entry.state = "misdated"
            keys = {"day": ("day", entry.team, day), "phase": ("phase", entry.team, where[0]), "total": entry.team}
            full = [kind for kind, most in limits.items() if most is not None and taken[keys[kind]] >= most]
            if not entry.state and full and not is_baseline:
                entry.state = "over-quota"
            entry.scores = self.scored(self.archive.members.get(f"submissions/{entry.digest}"), entry.digest)
            if not entry.state and entry.scores:
                taken.update(keys.values())
                entry.state = "counts" if entry.present else "withdrawn"

    def counting(self, team: str, entries: list[Entry]) -> Entry | None:
        """The entry that counts of a team."""
        picks = [
            event["body"]["picks"] for event in self.archive.of(self.name, "pick") if event["body"]["team"] == team
        ]
        if self.settings["entry"] == "picks" and picks:
            picked = {(pick["file"], pick["digest"]) for pick in picks[-1]}
            entries = [entry for entry in entries if (entry.file, entry.digest) in picked] or entries
        if self.settings["entry"] == "last":
            return entries[-1] if entries else None
        return max(entries, key=lambda entry: entry.scores["preliminary"], default=None)

    def scored(self, content: bytes | None, digest: str) -> dict[str, float]:
        """The scores of a submission from its bytes, or else from its judged items; empty if it is rejected."""
        lists = self.judged(digest) if content is None else {}
        for line in content.decode().splitlines() if content is not None else ():
            query, colon, items = line.partition(":")
            if not colon or query in lists:
                return {}
            listed = dict.fromkeys(items.split(",")[: self.settings["list_length"]])
            lists[query] = [self.solution.get(query, {}).get(item, 0) for item in listed]
        values = {query: self.measured(lists.get(query, []), grades) for query, grades in self.solution.items()}
        means: dict[str, float] = defaultdict(float)
        for part, queries in (("all", values.keys()), ("preliminary", self.flagged)):
            means[part] = round(math.fsum(values[query] for query in queries) / len(queries), self.settings["decimals"])
        return means if lists else {}

    def judged(self, digest: str) -> dict[str, list[float]]:
        """The grades of the lists of a submission by its result, if it has one that is scored."""
        for row in self.archive.lines("tables/result.jsonl"):
            known = row["submission_digest"], row["solution_digest"], row["status"]
            if known == (digest, self.basis["solution"], "scored"):
                counts, lengths, ranks, positions = (iter(column) for column in unpacked(row["hits"]))
                lists = {query: [0.0] * next(lengths) for query in self.solution}
                for (query, found), count in zip(lists.items(), counts, strict=True):
                    for _ in range(count):
                        found[next(ranks) - 1] = sorted(self.solution[query].values())[::-1][next(positions)]
                return lists
        return {}

    def measured(self, found: list[float], grades: dict[str, float]) -> float:
        """The score of a list with these grades, by nDCG or P with a cut-off."""
        name, _, text = self.settings["primary"].partition("@")
        cutoff = int(text)
        if name == "P":
            return sum(grade > 0 for grade in found[:cutoff]) / cutoff
        need(name == "nDCG", f"{self.name}: this program does not know the measure {name}")
        return dcg(found[:cutoff]) / dcg(sorted(grades.values())[::-1][:cutoff])


def unpacked(text: str) -> list[list[int]]:
    """The columns of packed judged items."""
    body, columns = zlib.decompress(base64.b64decode(text)[4:]), []
    while body:
        width, count = int(chr(body[2])), int.from_bytes(body[3:7], "little")
        planes = [body[7 + count * place :][:count] for place in range(width)]
        columns.append([int.from_bytes(bytes(each), "little") for each in zip(*planes, strict=True)])
        body = body[7 + count * width :]
    return columns


def dcg(gains: list[float]) -> float:
    """The discounted gain of a list."""
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def place(phases: list[list[Any]], moment: datetime) -> tuple[int, str]:
    """The last phase that has started, and whether it has closed."""
    begun = [number for number, phase in enumerate(phases) if phase[1] <= moment]
    if not begun:
        return -1, "early"
    return begun[-1], "ok" if moment < phases[begun[-1]][2] + phases[begun[-1]][3] else "late"


def at(text: str) -> datetime:
    """The time of a text."""
    return datetime.fromisoformat(text)


def shown(value: object, column: str) -> str:
    """A value of leaderboard.json in the CSV; the scores of the tests have 4 decimals."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def problems(path: Path, head: str = "") -> list[str]:
    """What is wrong with an archive; empty if its boards follow from it. `head` is a head that was kept."""
    try:
        Archive(path).verify(head)
    except (WrongError, LookupError, ValueError, TypeError, AttributeError) as error:
        return [f"{type(error).__name__}: {error}"]
    return []


if __name__ == "__main__":
    sys.exit("\n".join(problems(Path(sys.argv[1]), *sys.argv[2:])) or 0)
