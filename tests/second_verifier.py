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
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key


class WrongError(Exception):
    """What is wrong with an archive."""


def need(is_true: object, wrong: str) -> None:
    """Raise an error unless something is true."""
    if not is_true:
        raise WrongError(wrong)


def sha256(content: bytes) -> str:
    """The hash of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object that has no key twice."""
    need(len(dict(pairs)) == len(pairs), "a key is there twice")
    return dict(pairs)


def read(text: str | bytes) -> Any:
    """A value of JSON."""
    return json.loads(text, object_pairs_hook=once)


def canonical(value: object) -> str:
    """The text of an object in a line."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def same(found: object, wanted: object, what: str) -> None:
    """Raise an error unless two values of JSON are the same, types included."""
    need(canonical(found) == canonical(wanted), f"{what}: found {found}, derived {wanted}")


OF_RESULTS = "counts digest findings hits limits matching_digest solution_digest status submission_digest"
OF_BOARD = "version log track phase rules columns rows late statistics"
RULES: tuple[str, ...] = (
    "list_length",
    "cutoffs",
    "primary",
    "decimals",
    "missing",
    "exclude",
    "ties",
    "unjudged",
    "equal_ranks",
)
RULES += ("equal_ranks", "entry", "picks", "rows", "rows_per_team", "final", "trusted_times", "quota", "baselines")
RULES += ("overall", "visibility", "solution_format", "submission_format")
"""The rules of a basis, in the order of documents."""

FILES = ("solution", "queries", "items", "exclude", "clusters")
NOT_IN_BASIS = {*FILES, "phases", "statistics", "judged_bounds", "submissions", "description"}
"""Keys of a track in challenge.toml that no basis has, or as a path, or that decide nothing."""

DEFAULTS = {"decimals": 4, "missing": "zero", "ties": "trec", "entry": "best", "equal_ranks": "shared", "final": "all"}
DEFAULTS |= {"unjudged": "nonrelevant", "rows": "team", "late_board": False, "trusted_times": False, "stage": None}
DEFAULTS |= {"limits": {}, "publish_submissions": True, "per_query": "hidden", "reveal_solution": False, "quota": {}}
DEFAULTS |= {key: [] for key in ("baselines", "cutoffs", "measures")}


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
    is_misdated: bool = False
    scores: dict[str, float | None] = field(default_factory=dict)
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
        text = self.members.pop("manifest.json").decode("ascii")
        self.manifest = read(text)
        need(json.dumps(self.manifest, indent=1, sort_keys=True) + "\n" == text, "the form of the manifest")
        keys = {"format", "version", "scorer", "schema", "challenge", "events", "head", "members"}
        need(set(self.manifest) == keys, "the keys of the manifest")
        need((self.manifest["format"], self.manifest["version"]) == ("scorer-bundle", 1), "the format")
        need(type(self.manifest["schema"]) is int and type(self.manifest["scorer"]) is str, "the versions")
        need({name: sha256(data) for name, data in self.members.items()} == self.manifest["members"], "members")
        for name, data in self.members.items():
            folder, _, rest = name.partition("/")
            need(folder not in ("solutions", "submissions") or rest == sha256(data), f"{name} has other bytes")

    def lines(self, name: str) -> list[Any]:
        """The objects in a member with one a line."""
        return [read(line) for line in self.members[name].decode().splitlines()]

    def table(self, name: str, keys: str, order: Callable[[Any], Any]) -> list[Any]:
        """The objects in a member with one a line, in the only form that they can have."""
        rows = self.lines(name)
        need("".join(f"{canonical(row)}\n" for row in rows).encode() == self.members[name], f"the form of {name}")
        need(all(set(row) == set(keys.split()) for row in rows), f"the keys of {name}")
        places = [order(row) for row in rows]
        need(places == sorted(set(places)), f"the order of {name}")
        return rows

    def document(self, name: str, keys: str) -> Any:
        """A document in the only form that it can have."""
        value = read(self.members[name])
        text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
        need(text.encode() == self.members[name] and list(value) == keys.split(), f"the form of {name}")
        return value

    def verify(self, head: str) -> None:
        """Verify all. Raises WrongError."""
        self.check_log(head)
        self.settings = tomllib.loads(self.members["challenge/challenge.toml"].decode())
        known = {"name", "licence", "publish_submissions", "limits", "metadata", "overall", "visibility", "tracks"}
        need(set(self.settings) <= known, "the keys of challenge.toml")
        self.publishes = self.settings.get("publish_submissions", True)
        self.results = self.table("tables/result.jsonl", OF_RESULTS, lambda row: row["digest"])
        boards = [Board(self, name, table) for name, table in self.settings["tracks"].items()]
        need({event["track"] for event in self.events} <= {"", *self.settings["tracks"]}, "a track is missing")
        self.check_receipts(boards)
        self.check_members(boards)
        self.check_commitment(boards)
        for board in boards:
            board.verify()

    def check_members(self, boards: list[Board]) -> None:
        """Each member is expected, and each expected one is there."""
        public = ["log.jsonl", "events.jsonl", "receipts.jsonl", "receipts.pem"]
        commits = any(event["kind"] == "commitment" for event in self.events)
        public += ["commitment.json", "commitment.txt"] if commits else []
        folders = [board.name for board in boards] + (["overall"] if "overall" in self.settings else [])
        public += [f"{folder}/leaderboard.{end}" for folder in folders for end in ("json", "csv")]
        public += [f"{board.name}/split.json" for board in boards if board.settings.get("split")]
        wanted = {"challenge/challenge.toml", "tables/result.jsonl", *(f"public/{name}" for name in public)}
        for event in self.events:
            if event["kind"] == "basis":
                exclude = event["body"]["settings"].get("exclude") or {}
                files = (event["body"]["solution"], event["body"].get("items"), exclude.get("sha256"))
                wanted |= {f"solutions/{digest}" for digest in files if digest}
        states = [entry for board in boards for entry in board.entries()]
        there = {entry.digest for entry in states if entry.present}
        wanted |= {f"submissions/{digest}" for digest in there if self.publishes}
        for board in boards:
            wanted |= {f"challenge/{name}" for name in board.files}
        need(set(self.members) == wanted, f"members: {sorted(set(self.members) ^ wanted)}")
        solutions = {event["body"]["solution"] for event in self.events if event["kind"] == "basis"}
        arrived = {entry["body"]["digest"] for entry in self.events if entry["kind"] == "arrival"}
        known = {row["submission_digest"] for row in self.results} | (there if self.publishes else set())
        for board in boards:
            limits = {key for key, most in board.settings["quota"].items() if most is not None and key != "zone"}
            gone = {entry.digest for entry in board.entries() if entry.digest and not entry.present and limits}
            need(gone <= known, "the result of an entry that was withdrawn is missing")
        for row in self.results:
            need(row["solution_digest"] in solutions, "a result by an unknown solution")
            need(row["submission_digest"] in arrived - (there if self.publishes else set()), "an unknown result")

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
        rows = self.table("public/events.jsonl", "event index nonce", lambda row: row["index"])
        self.opened = {row["index"]: row for row in rows}
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
            need(line["kind"] not in ("token", "preview", "cancellation"), f"event {line['index']} has a text")
            nonce, text = bytes.fromhex(row["nonce"]), row["event"].encode("ascii")
            need(sha256(b"\x00" + nonce + text) == line["leaf"], f"the text of event {line['index']}")
            event = read(text)
            need(canonical(event) == row["event"] and nonce.hex() == row["nonce"], f"the form of event {line['index']}")
            need(set(event) == {"at", "body", "index", "kind", "track"}, f"the keys of event {line['index']}")
            need((event["index"], event["kind"]) == (line["index"], line["kind"]), f"event {line['index']} is another")
            self.events.append(event)
            if event["kind"] == "log":
                kinds = "".join(f"{each['kind']}\n" for each in self.log[: line["index"] - 1])
                need(event["body"]["kinds"] == sha256(kinds.encode()), "the kinds of the events of version 1")

    def of(self, track: str, *kinds: str) -> list[Any]:
        """The events of some kinds of a track."""
        return [event for event in self.events if event["kind"] in kinds and event["track"] in (track, "")]

    def check_receipts(self, boards: list[Board]) -> None:
        """Each arrival has a receipt that says what it says, and is signed."""
        pem = self.members["public/receipts.pem"]
        key = load_pem_public_key(pem)
        assert isinstance(key, Ed25519PublicKey)
        self.key = key.public_bytes_raw().hex()
        need(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) == pem, "the form of the key")
        tracks = {board.name: board for board in boards}
        arrivals = [event for event in self.events if event["kind"] == "arrival"]
        rows = self.lines("public/receipts.jsonl")
        need("".join(f"{canonical(row)}\n" for row in rows).encode() == self.members["public/receipts.jsonl"], "form")
        need(len(rows) == len(arrivals) and all(list(row) == ["receipt"] for row in rows), "the receipts")
        for row, event in zip(rows, arrivals, strict=True):
            message, end, signed = row["receipt"].partition("\n")
            index, body = event["index"], event["body"]
            phases = tracks[event["track"]].phases(index)
            number, where = place(phases, at(body["received"])) if phases else (-1, "ok")
            line = self.log[index - 1]
            said = {
                "version": line.get("version", 1),
                "challenge": self.settings["name"],
                "track": event["track"],
                "index": index,
            }
            said |= {name: body[name] for name in ("team", "file", "digest", "received")}
            said |= {"phase": phases[number][0] if where == "ok" and phases else None}
            said |= {**self.opened[index], "leaf": line["leaf"], "head": line["head"]}
            said |= {"epoch": line["epoch"]} if "epoch" in line else {}
            need(message == canonical(said), f"the receipt of event {index}")
            decoded = base64.b64decode(signed)
            need(signed == base64.b64encode(decoded).decode() + "\n", f"the form of the receipt of event {index}")
            try:
                key.verify(decoded, (message + end).encode())
            except InvalidSignature as error:
                raise WrongError(f"the signature of the receipt of event {index}") from error

    def check_commitment(self, boards: list[Board]) -> None:
        """The opening, and what the boards are based on."""
        need(self.manifest["challenge"] == self.settings["name"], "the name of the challenge")
        made = [event for event in self.events if event["kind"] == "commitment"]
        for board in boards:
            board.check_bases()
        if not made:
            return
        last = made[-1]
        opening = self.members["public/commitment.txt"].decode("ascii")
        need(last["body"] == {"sha256": sha256(opening.encode()), "opening": opening}, "the opening")
        first, _, text = opening.partition("\n")
        need(first == "scorer-commitment-v1" and canonical(read(text)) == text, "the form of the opening")
        content = read(text)
        need(set(content) == {"challenge", "receipts", "salt", "scorer", "tracks"}, "the keys of the opening")
        need((content["challenge"], content["receipts"]) == (self.settings["name"], self.key), "another challenge")
        keys = "version challenge commitments receipts tracks errata revealed not_applied event nonce"
        secret = [line for line in self.log if line["index"] not in self.opened and line["index"] not in self.lost]
        hidden = [line["index"] for line in secret if line["kind"] == "erratum"]
        document = self.document("public/commitment.json", keys if hidden else keys.replace("not_applied ", ""))
        wanted = {
            "version": 1,
            "challenge": self.settings["name"],
            "commitments": [
                {"sha256": each["body"]["sha256"], "index": each["index"], "at": seconds(each["at"])} for each in made
            ],
            "receipts": self.key,
            "tracks": {board.name: board.committed(last["index"]) for board in boards},
            "errata": [each for board in boards for each in board.errata()],
            "revealed": True,
            **({"not_applied": hidden} if hidden else {}),
            "event": self.opened[last["index"]]["event"],
            "nonce": self.opened[last["index"]]["nonce"],
        }
        same(document, wanted, "commitment.json")


def stated_rules(basis: Any) -> Any:
    """What a commitment says of a basis, without rules that are null."""
    return basis and {**basis, "rules": {key: value for key, value in basis["rules"].items() if value is not None}}


class Board:
    """The board of a track, derived from the archive."""

    def __init__(self, archive: Archive, name: str, table: Any) -> None:
        self.archive, self.name, self.table = archive, name, table
        self.basis = archive.of(name, "basis")[-1]["body"]
        self.settings = self.basis["settings"]
        self.files = [table[key] for key in FILES if table.get(key) not in (None, "self")]
        self.files += [table["split"].get("key_file", "split.key")] if "split" in table else []
        self.solution: dict[str, dict[str, float]] = {}
        self.flagged = set()
        for line in archive.members[f"solutions/{self.basis['solution']}"].decode().splitlines():
            query, flag, items = line.split(":")
            pairs = (item.rpartition("|") for item in items.split(",") if item)
            self.solution[query] = {item: float(grade) for item, _, grade in pairs}
            self.flagged |= {query} if flag == "1" else set()

    def verify(self) -> None:
        """Compare the derived board with the published one. Raises WrongError."""
        self.check_settings()
        self.check_split()
        entries = self.entries()
        self.admit(entries)
        decided = {event["body"]["team"]: event["body"]["settings"] for event in self.archive.of("", "team")}
        names = {team: settings.get("name") for team, settings in decided.items()}
        out = {team for team, settings in decided.items() if settings.keys() & {"disqualified", "withdrawn"}}
        need(not any("merged_into" in settings for settings in decided.values()), "this program knows no merged teams")
        rows, ranked = [], []
        for team in dict.fromkeys(entry.team for entry in entries if entry.present):
            own = [entry for entry in entries if entry.team == team and entry.present]
            chosen = self.counting(team, [entry for entry in own if entry.state == "counts"])
            is_baseline = team in self.settings["baselines"]
            last = max(entry.received for entry in own)
            rows.append((team, names.get(team) or team, is_baseline, chosen, len(own), last))
            score = chosen.scores["all"] if chosen else None
            ranked += [] if is_baseline or team in out or score is None or not chosen else [(-score, chosen.index)]
        wanted = {}
        for folder, team, is_baseline, chosen, count, last in rows:
            score = chosen.scores["all"] if chosen else None
            rank = None
            if chosen and score is not None and not is_baseline and folder not in out:
                earlier = self.settings["equal_ranks"] == "earlier"
                rank = 1 + sum(each < (-score, chosen.index if earlier else -1) for each in ranked)
            scores = (chosen.scores["all"], chosen.scores["preliminary"]) if chosen else (None, None)
            wanted[team] = (rank, is_baseline, *scores, count, last.strftime("%Y-%m-%dT%H:%M:%SZ"))
        primary = self.settings["primary"]
        columns = ("rank", "baseline", primary, f"preliminary {primary}", "entries", "last entry")
        board = self.archive.document(f"public/{self.name}/leaderboard.json", OF_BOARD)
        need(board["version"] in (2, 3), "the version of the board")
        same(board["track"]["name"], self.name, "the name of the track")
        same(board["track"]["title"], self.table["title"], "the title of the track")
        counts = ("queries", "scored_queries", "preliminary_queries")
        defined = [query for query in self.solution if any(grade > 0 for grade in self.solution[query].values())]
        numbers = [len(self.solution), len(defined), len(self.flagged.intersection(defined))]
        same([board["track"][count] for count in counts], numbers, "the queries of the track")
        same([board["track"][key] for key in ("stage", "primary")], ["final", primary], "the track")
        last_line = self.archive.log[-1]
        need(board["log"] == {"index": last_line["index"], "head": last_line["head"]}, "the head on the board")
        found = {row["team"]: tuple(row.get(column) for column in columns) for row in board["rows"]}
        need(len(found) == len(board["rows"]), f"{self.name}: a row is there twice")
        same(found, {team: wanted.get(team) for team in found}, self.name)
        need(found.keys() == wanted.keys(), f"{self.name}: the rows")
        same({row["team"]: row["id"] for row in board["rows"]}, {row[1]: row[0] for row in rows}, "the ids of the rows")
        places = {row[1]: (row[0] in out, *place_of(row[3]), row[1]) for row in rows}
        need([*found] == sorted(found, key=lambda team: places[team]), f"{self.name}: the order of the rows")
        head = ["rank", "team", "baseline", primary, f"preliminary {primary}", "entries", "last entry"]
        certainty = ["low", "high", "rank from", "rank to", "tier", "separable_from_leader"][: board["version"] + 3]
        same(
            board["columns"],
            [*head, *certainty],
            "the columns",
        )
        for row in board["rows"]:
            need(set(row) - {"id", "status", "choice", "changes"} == set(board["columns"]), "the keys of a row")
        target = io.StringIO(newline="")
        lines = [[shown(row[column], column) for column in board["columns"]] for row in board["rows"]]
        csv.writer(target).writerows([board["columns"], *lines])
        need(target.getvalue().encode() == self.archive.members[f"public/{self.name}/leaderboard.csv"], "the CSV")

    def check_settings(self) -> None:
        """The settings of the archive are those of the basis, and its files have their hashes."""
        machine = ("files_per_team", "seconds", "memory_mb", "temporary_mb")
        limits = {key: value for key, value in self.archive.settings.get("limits", {}).items() if key not in machine}
        table = {**self.table, "publish_submissions": self.archive.publishes, "limits": limits}
        for key in table.keys() | self.settings.keys() - {"overall", "visibility"} - NOT_IN_BASIS:
            one, other = table.get(key, DEFAULTS.get(key)), self.settings.get(key, DEFAULTS.get(key))
            if key == "split" and one:
                need(set(one) <= {"preliminary", "key_file"}, "the keys of the split")
                need(other and float(one["preliminary"]) == float(other["preliminary"]), "the share of the split")
            elif key == "quota":
                given = {name: value for name, value in other.items() if value is not None}
                need({"zone": "UTC", **one} == given, f"{self.name}: the quota")
            elif key not in NOT_IN_BASIS:
                same(one, other, f"{self.name}: {key}")
        digests = {"solution": self.basis["solution"], "items": self.basis.get("items")}
        for key, digest in digests.items():
            need(not digest or sha256(self.archive.members[f"challenge/{self.table[key]}"]) == digest, f"the {key}")
        need(len(self.table["phases"]) == len(self.phases()), f"{self.name}: the phases")
        for each, phase in zip(self.table["phases"], self.phases(), strict=True):
            need(not each.keys() - {"name", "start", "end", "grace", "freeze"}, f"{self.name}: the keys of a phase")
            times = (each["name"], each["start"], each["end"] in self.ends[each["name"]])
            lengths = (seconds_of(each.get("grace", "0s")), seconds_of(each.get("freeze", "0s")))
            need((*times, *lengths) == (*phase[:2], True, *phase[3:]), f"{self.name}: the phase {phase[0]}")

    def rules(self, basis: Any) -> Any:
        """What a commitment says of a basis, without phases."""
        settings = basis["settings"]
        split = settings.get("split")
        split = split and {key: split[key] for key in ("preliminary", "key_sha256")}
        rules = {key: settings[key] for key in RULES if key in settings}
        return {"solution": basis["solution"], "items": basis.get("items"), "rules": rules, "split": split}

    def check_bases(self) -> None:
        """Since rules were fixed, only applied errata have changed them."""
        before = promised = None
        is_fixed, unexplained = False, ""
        for event in self.archive.of(self.name, "basis", "erratum", "commitment", "phases", "extension"):
            body = event["body"]
            phases = self.phases(event["index"])
            has_started = bool(phases and event["at"] and at(event["at"]) >= phases[0][1])
            if event["kind"] == "erratum":
                promised = self.rules(body["basis"])
            elif event["kind"] == "commitment":
                content = read(body["opening"].partition("\n")[2])["tracks"].get(self.name)
                if content:
                    need(set(content) == {"items", "phases", "rules", "solution", "split"}, "the keys of a commitment")
                    stated = {key: value for key, value in content.items() if key != "phases"}
                    need(stated == before and not has_started, f"{self.name}: not what was committed to")
                    is_fixed, unexplained = True, ""
            elif event["kind"] == "basis":
                now = self.rules(body)
                is_changed = before is not None and stated_rules(now) != stated_rules(before)
                if is_changed and (is_fixed or has_started) and stated_rules(now) != stated_rules(promised):
                    unexplained = f"{self.name}: event {event['index']} changes rules without an erratum"
                    need(not has_started, unexplained)
                before = now
        is_kept = promised is None or stated_rules(promised) == stated_rules(before)
        need(not unexplained and is_kept, unexplained or f"{self.name}: the last erratum")

    def errata(self) -> list[Any]:
        """The applied errata."""
        found, before = [], None
        for event in self.archive.of(self.name, "basis", "erratum"):
            if event["kind"] == "basis":
                before = self.rules(event["body"])
                continue
            now = self.rules(event["body"]["basis"])
            was = before or now
            names = [key for key in RULES if now["rules"].get(key) != was["rules"].get(key)]
            names += [key for key in ("solution", "items") if now[key] != was[key]]
            number = event["body"]["number"]
            found.append({"track": self.name, "number": number, "index": event["index"], "changed": names})
        return found

    def committed(self, index: int) -> Any:
        """What commitment.json says of the track, given the index of the last commitment."""
        now = self.rules(self.basis)
        keys = ("name", "start", "end", "grace", "freeze", "shows")
        dates = self.archive.of(self.name, "phases", "extension")
        last = [event["body"]["phases"] for event in dates if event["kind"] == "phases"][-1]
        phases = [{**each, "end": now[2].isoformat()} for each, now in zip(last, self.phases(), strict=True)]
        return {
            "key_sha256": now["split"] and now["split"]["key_sha256"],
            "solution": now["solution"],
            "items": now["items"],
            "rules": {key: now["rules"][key] for key in RULES if key in now["rules"]},
            "phases": [{key: each[key] for key in keys if key in each} for each in phases],
            "rescheduled": [event["index"] for event in dates if event["index"] > index],
        }

    def check_split(self) -> None:
        """Which queries are preliminary."""
        split = self.settings.get("split")
        if split is None:
            return
        keys = "version track preliminary key_sha256 key queries"
        document = self.archive.document(f"public/{self.name}/split.json", keys)
        need((document["version"], document["track"]) == (1, self.name), f"{self.name}: the split of another track")
        revealed = [event["body"].get("split_key") for event in self.archive.of(self.name, "reveal")]
        need(document["key"] in revealed, f"{self.name}: the key was not revealed")
        file = self.archive.members[f"challenge/{self.table['split'].get('key_file', 'split.key')}"]
        need(file == f"{document['key']}\n".encode(), f"{self.name}: the file of the key")
        key = bytes.fromhex(document["key"])
        need(sha256(key) == document["key_sha256"] == split["key_sha256"], f"{self.name}: the key of the split")
        need(document["preliminary"] == split["preliminary"], f"{self.name}: the share of the split")
        limit = Fraction(split["preliminary"]) * 2**64
        for query in self.solution:
            digest = hmac.digest(key, f"{self.name}\0{query}".encode(), "sha256")
            self.flagged |= {query} if int.from_bytes(digest[:8], "big") < limit else set()
        lists = document["queries"]
        wanted = {"preliminary": sorted(self.flagged), "rest": sorted(self.solution.keys() - self.flagged)}
        same(lists, wanted, f"{self.name}: the queries of the split")

    def phases(self, before: int | None = None) -> list[list[Any]]:
        """The name, the start, the end, the grace and the freeze of each phase by the record before an event."""
        found: list[list[Any]] = []
        self.ends: dict[str, list[datetime]] = defaultdict(list)
        for event in self.archive.of(self.name, "phases", "extension"):
            body = event["body"]
            if before is not None and event["index"] >= before:
                break
            if event["kind"] == "phases":
                found = []
                for each in body["phases"]:
                    grace, freeze = timedelta(0, each["grace"]), timedelta(0, each["freeze"])
                    found.append([each["name"], at(each["start"]), at(each["end"]), grace, freeze])
                    self.ends[each["name"]].append(at(each["end"]))
            for phase in found:
                if event["kind"] == "extension" and phase[0] == body["phase"]:
                    phase[2] = at(body["end"])
                    self.ends[phase[0]].append(phase[2])
        return found

    def entries(self) -> list[Entry]:
        """The entries by the record, in its order."""
        found: dict[tuple[str, str], Entry] = {}
        announced = None
        for event in self.archive.of(self.name, "arrival", "withdrawal", "return", "amendment", "phases"):
            body = event["body"]
            if event["kind"] == "phases":
                announced = announced or (event["at"] and at(event["at"]))
                continue
            key = body["file"], body["digest"]
            if event["kind"] == "arrival":
                absent = at(body["absent_at"]) if body.get("absent_at") else None
                recorded = at(event["at"]) if event["at"] else None
                entry = Entry(body["team"], *key, at(body["received"]), event["index"], absent, recorded)
                if body["source"] == "folder":
                    is_early = announced and entry.received < announced - timedelta(minutes=5)
                    is_late = recorded and entry.received > recorded + timedelta(minutes=5)
                    entry.is_misdated = bool(is_early or is_late or entry.received.year < 1990)
                need(key not in found, f"event {event['index']}: the same entry again")
                found[key] = entry
            else:
                need(key in found, f"event {event['index']}: an entry that never arrived")
                entry = found[key]
            if event["kind"] == "amendment":
                entry.received, entry.absent_at, entry.is_misdated = at(body["received"]), None, False
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
        limits["rejected"] = quota["rejected_per_day"]
        has_days = limits["day"] is not None or limits["rejected"] is not None
        need("rows" not in self.settings, "this program knows no rows of entries")

        for entry in entries:
            is_baseline = entry.team in self.settings["baselines"]
            where, day = place(phases, entry.received), entry.received.astimezone(zone).date()
            if not is_baseline and where[1] != "ok":
                entry.state = where[1]
            trusts = self.settings.get("trusted_times", False)
            if not (is_baseline or trusts) and entry.absent_at is not None and entry.received < entry.absent_at:
                is_other_day = has_days and entry.absent_at.astimezone(zone).date() != day
                if where != place(phases, entry.absent_at) or (where[1] == "ok" and is_other_day):
                    entry.state = "misdated"
            if entry.is_misdated and not is_baseline:
                entry.state = "misdated"
            keys = {"day": ("day", entry.team, day), "phase": ("phase", entry.team, where[0]), "total": entry.team}
            keys["rejected"] = ("rejected", entry.team, day)
            full = [kind for kind, most in limits.items() if most is not None and taken[keys[kind]] >= most]
            if not entry.state and full and not is_baseline:
                entry.state = "over-quota"
            entry.scores = self.scored(self.archive.members.get(f"submissions/{entry.digest}"), entry.digest)
            if not entry.state and entry.scores:
                taken.update(keys[kind] for kind in ("day", "phase", "total"))
                entry.state = "counts" if entry.present else "withdrawn"
            elif not entry.state and entry.digest:
                taken[keys["rejected"]] += 1

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
        part = "preliminary" if self.flagged else "all"
        scores = {entry.index: -math.inf if (score := entry.scores[part]) is None else score for entry in entries}
        return max(entries, key=lambda entry: scores[entry.index], default=None)

    def scored(self, content: bytes | None, digest: str) -> dict[str, float | None]:
        """The scores of a submission from its bytes, or else from its judged items; empty if it is rejected."""
        lists = self.judged(digest) if content is None else {}
        for line in content.decode().splitlines() if content is not None else ():
            query, colon, items = line.partition(":")
            if not colon or query in lists:
                return {}
            listed = dict.fromkeys(items.split(",")[: self.settings["list_length"]])
            lists[query] = [self.solution.get(query, {}).get(item, 0) for item in listed]
        values = {query: self.measured(lists.get(query, []), grades) for query, grades in self.solution.items()}
        need(self.settings["decimals"] is not None, "this program knows no automatic decimals")
        means: dict[str, float | None] = {}
        every = values.keys() - (self.flagged if self.settings["final"] == "rest" else set())
        for part, queries in (("all", every), ("preliminary", self.flagged)):
            defined = [value for query in queries if (value := values[query]) is not None]
            means[part] = round(math.fsum(defined) / len(defined), self.settings["decimals"]) if defined else None
        is_whole = self.settings["missing"] == "zero" or lists.keys() >= self.solution.keys()
        return means if lists.keys() & self.solution.keys() and is_whole else {}

    def judged(self, digest: str) -> dict[str, list[float]]:
        """The grades of the lists of a submission by its result, if it has one that is scored."""
        for row in self.archive.results:
            known = row["submission_digest"], row["solution_digest"], row["status"]
            if known == (digest, self.basis["solution"], "scored"):
                counts, lengths, ranks, positions = (iter(column) for column in unpacked(row["hits"]))
                lists = {query: [0.0] * next(lengths) for query in self.solution}
                for (query, found), count in zip(lists.items(), counts, strict=True):
                    for _ in range(count):
                        found[next(ranks) - 1] = sorted(self.solution[query].values())[::-1][next(positions)]
                return lists
        return {}

    def measured(self, found: list[float], grades: dict[str, float]) -> float | None:
        """The score of a list with these grades, by nDCG or P with a cut-off; None where it is undefined."""
        need("unjudged" not in self.settings and "exclude" not in self.settings, "this program drops no items")
        if not any(grade > 0 for grade in grades.values()):
            return None
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


def place_of(entry: Entry | None) -> tuple[int, float, int]:
    """Where the row with an entry is."""
    if entry is None:
        return 2, 0.0, 0
    score = entry.scores["all"]
    return (1, 0.0, entry.index) if score is None else (0, -score, entry.index)


def seconds(text: str | None) -> str | None:
    """A time of an event as documents have it."""
    return None if text is None else f"{at(text):%Y-%m-%dT%H:%M:%SZ}"


def seconds_of(text: str) -> timedelta:
    """A time such as 24h in the settings."""
    units = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
    return timedelta(**{units[text[-1]]: int(text[:-1])})


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
