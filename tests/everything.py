"""A challenge in which every rule is on at once, and its season, by public means only and at injected times.

`python -m tests.everything FOLDER` writes all that the challenge shows and keeps into a folder. Times and secrets are
injected, so that two versions of the code can be compared byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import secrets
import shutil
import sys
import threading
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlencode

import pytest
import uvicorn

from scorer.organising.bundles import import_bundle
from scorer.service.app import application
from scorer.service.state import Service
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge
from scorer.store.store import Store
from tests.commands import Answer, here
from tests.live_challenges import day
from tests.oracles import preliminary_queries

Way = Literal["service", "shell", "inbox", "folder"]
"""Over HTTP, and by `scorer submit`; by a folder or a mailbox that `scorer collect` reads; into that of submissions."""

TRACKS = ("songs", "films", "runs")
QUERIES = [f"q{number:02}" for number in range(24)]
ITEMS = [f"i{number:02}" for number in range(40)]
LENGTH = 6

KEYS = {"songs": "5a" * 32, "runs": "c3" * 32}
"""Of the splits."""
SHARES = {"songs": "0.5", "runs": "0.4"}

SETTINGS = """\
name = "Everything at once"
description = "A challenge with *every* rule, see [the data](data.html)."
database = "data/scores.db"
licence = "CC BY 4.0"
publish_submissions = true
keep_submissions = true
metadata = [
    {name = "kind", title = "Kind of run", type = "choice", choices = ["automatic", "manual"], required = true, \
ir_metadata = "method.kind"},
    {name = "energy", title = "Energy", type = "number", unit = "kWh", public = "end"},
    {name = "external", title = "External data", type = "yes-no", public = "end"},
    {name = "page", title = "Page", type = "url"},
    {name = "approach", title = "Approach"},
]
overall = {tracks = ["songs", "films"], rule = "rank", weights = [2, 1], measure = "AP", missing = "unranked", \
tie_break = "RR", equal_ranks = "earlier"}
visibility = {score = {team = "now", everyone = "close"}, rank = {team = "now", everyone = "close"}, \
board = {everyone = "now"}, names = "final", per_query = "reveal", metadata = "close"}
limits = {file_mb = 1, expanded_mb = 2, expansion = 50, document_mb = 1, line_mb = 1, id_bytes = 100, \
queries = 1000, items = 10000, nesting = 5, table_mb = 10, files_per_team = 20, seconds = 60, memory_mb = 1000, \
temporary_mb = 100}

[site]
folder = "public"
url = "https://lists.example.org/everything/"
service = "https://lists.example.org/everything/"
contact = "lists@example.org"
accent = "#7a0a2e"
accent_dark = "#f2b6c6"
logo = "logo.svg"
footer = "Run by the *Department of Lists*."
links = [{ title = "Contact", url = "mailto:lists@example.org" }]

[tracks.songs]
title = "Songs & sounds"
description = "Lists of songs. Scores are *rounded*."
solution = "hidden/songs.qrels"
solution_format = "trec"
submission_format = "trec"
queries = "lists/songs-queries.txt"
items = "lists/songs-items.txt"
exclude = "lists/songs-exclude.jsonl"
submissions = "entries/songs"
ignore = ["*.log", "notes"]
list_length = 6
cutoffs = [1, 3]
primary = "nDCG@5"
measures = ["AP", "RR", "P@3", "0.25*RR+0.75*AP"]
decimals = "auto"
missing = "zero"
ties = "expected"
entry = "picks"
picks = 1
split = {preliminary = 0.5, key_file = "hidden/songs.key", key_sha256 = "SONGS_SHA256"}
final = "rest"
baselines = ["popular"]
late_board = true
quota = {per_day = 2, zone = "AoE", per_phase = 4, total = 6, rejected_per_day = 1}
per_query = "public"
statistics = "all"
slices = "hidden/songs-slices.csv"
slices_public = "now"
phases = [
    {name = "one", start = 2027-01-10T00:00:00Z, end = 2027-01-20T00:00:00Z, grace = "1h", freeze = "24h", \
shows = "ladder", ladder_step = 0.02},
    {name = "two", start = 2027-01-25T02:00:00+02:00, end = 2027-01-30T00:00:00Z, freeze = "12h"},
]

[tracks.films]
title = "Films"
solution = "hidden/films.txt"
exclude = "self"
list_length = 6
primary = "P@5"
measures = ["AP", "RR"]
decimals = 3
checked = "hidden/films-people.txt"
machine_weight = 0.75
missing = "reject"
ties = "best"
unjudged = "drop"
equal_ranks = "earlier"
entry = "last"
baselines = ["popular"]
quota = {total = 5}
slices = "hidden/films-slices.csv"
clusters = "hidden/films-clusters.csv"
phases = [
    {name = "one", start = 2027-01-10T00:00:00Z, end = 2027-01-20T00:00:00Z, shows = "nothing"},
    {name = "two", start = 2027-01-25T00:00:00Z, end = 2027-01-30T00:00:00Z},
]

[tracks.runs]
title = "Runs"
solution = "hidden/runs.qrels"
solution_format = "trec"
queries = "lists/runs-queries.txt"
file_names = "{team}_{run}"
list_length = 6
primary = "AP"
measures = ["nDCG@5", "RR", "GMAP"]
decimals = 4
ties = "order"
judged_bounds = "any"
rows = "entry"
rows_per_team = 2
split = {preliminary = 0.4, key_file = "hidden/runs.key"}
baselines = ["popular"]
late_board = true
trusted_times = true
quota = {per_phase = 5}
per_query = "public"
slices = "hidden/runs-slices.csv"
phases = [
    {name = "one", start = 2027-01-10T00:00:00Z, end = 2027-01-20T00:00:00Z, shows = "own"},
    {name = "two", start = 2027-01-25T00:00:00Z, end = 2027-01-30T00:00:00Z, grace = "30m", freeze = "12h", \
shows = "score"},
]
"""
"""The keys of a split and its hash are filled in."""

OVER = (
    ("[tracks.songs]\n", "[tracks.songs]\nreveal_solution = true\n"),
    ("[tracks.runs]\n", "[tracks.runs]\nreveal_solution = true\n"),
)
"""What the organisers change once all is over."""

FILES = {
    "pages/10-data.md": "# Data\n\nWhere the data is: [rules](songs/rules.html).\n",
    "templates/extra.css": "main { color: inherit; }\n",
    "templates/board.html": (
        '{% extends "shipped/board.html" %}\n'
        "{% block footer %}{{ super() }}<p>The prizes are awarded on 1 February.</p>{% endblock %}\n"
    ),
    "templates/static/logo.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>\n',
    "lists/songs-queries.txt": "".join(f"{query}\n" for query in QUERIES),
    "lists/runs-queries.txt": "".join(f"{query}\n" for query in QUERIES),
    "lists/songs-items.txt": "".join(f"{item}\n" for item in ITEMS),
    "lists/songs-exclude.jsonl": '{"query": "q00", "items": ["i39"]}\n{"query": "q05", "items": ["i38", "i37"]}\n',
    "teams.toml": (
        '["amber"]\nname = "The Ambers"\naffiliation = "University of <b>Lists</b>"\n'
        'links = ["https://amber.example.org/"]\ncode = "https://code.example.org/amber"\n'
        'paper = "https://papers.example.org/amber"\nreason = "They asked for it."\n\n'
        '["fern"]\nname = "Fern"\nwithdrawn = "The team has left."\n'
    ),
}


def solution(track: str, hidden: int, *, corrected: bool = False) -> dict[str, dict[str, int]]:
    """The graded items of each query; `hidden` changes those of queries that are not preliminary.

    A corrected one has other grades in a preliminary and in another query.
    """
    flagged = preliminary(track)
    graded = {}
    for number, query in enumerate(QUERIES):
        chance = random.Random(f"{track} {query} {0 if query in flagged else hidden}")
        graded[query] = {item: 1 + chance.randrange(3) for item in sorted(chance.sample(ITEMS[:30], 4 + number % 3))}
        graded[query] |= dict.fromkeys(chance.sample(ITEMS[30:36], 2), 0)
    if corrected:
        for query in (flagged[0], next(query for query in QUERIES if query not in flagged)):
            graded[query] = {item: 3 - grade for item, grade in graded[query].items()}
    return graded


def people(hidden: int) -> dict[str, dict[str, int]]:
    """The graded items of most queries of films by people; `hidden` as for `solution`."""
    judged, flagged = {}, preliminary("films")
    for query, items in solution("films", hidden).items():
        chance = random.Random(f"people {query} {0 if query in flagged else hidden}")
        judged[query] = {item: max(1, grade - chance.randrange(2)) for item, grade in items.items() if grade}
        judged[query][chance.choice(ITEMS[30:36])] = 2
    return {query: judged[query] for query in QUERIES[:-3]}


def preliminary(track: str) -> list[str]:
    """The preliminary queries of a track."""
    if track not in KEYS:
        return QUERIES[::3]
    return preliminary_queries(bytes.fromhex(KEYS[track]), SHARES[track], track, QUERIES)


def solution_text(track: str, hidden: int = 0, *, corrected: bool = False) -> str:
    """The file of a solution."""
    graded = solution(track, hidden, corrected=corrected)
    if track == "films":
        flagged = preliminary(track)
        lines = (f"{query}:{int(query in flagged)}:{_graded(items)}" for query, items in graded.items())
    else:
        lines = (f"{query} 0 {item} {grade}" for query, items in graded.items() for item, grade in items.items())
    return "".join(f"{line}\n" for line in lines)


def _graded(items: Mapping[str, int]) -> str:
    return ",".join(f"{item}|{grade}" for item, grade in items.items() if grade)


def other_name(name: str, hidden: int) -> str:
    """A name as a challenge with other hidden facts has it."""
    return name + "x" * hidden


@dataclass(frozen=True)
class Delivery:
    """A file that a team hands in."""

    at: datetime
    track: str
    team: str
    name: str
    """Without an ending."""
    quality: float = 0.5
    """The share of relevant items."""
    way: Way = "service"
    kind: str = "automatic"
    """Its required metadata; empty: missing."""
    content: str | None = None
    """In place of generated lists."""
    hidden: int = 0
    """Changes names and metadata, but no lists."""

    @property
    def folder(self) -> str:
        """The name of the team, as the record has it."""
        return other_name(self.team, self.hidden)

    @property
    def text(self) -> str:
        if self.content is not None:
            return self.content
        chance = random.Random(f"{self.track} {self.team} {self.name}")
        graded, lines = solution(self.track, 0), []
        for query in QUERIES:
            relevant = [item for item, grade in graded[query].items() if grade]
            chosen: list[str] = []
            while len(chosen) < LENGTH:
                item = chance.choice(relevant if chance.random() < self.quality else ITEMS)
                chosen += [item] if item not in chosen else []
                if set(relevant) <= set(chosen):
                    chosen += [item for item in chance.sample(ITEMS, LENGTH) if item not in chosen]
            chosen = chosen[:LENGTH]
            if self.track == "films":
                lines.append(f"{query}:{','.join(chosen)}\n")
            else:  # with ties
                lines += [f"{query} Q0 {item} {rank} {5 - rank // 2} {self.name}\n" for rank, item in enumerate(chosen)]
        return self.head + "".join(lines)

    @property
    def metadata(self) -> str:
        """What its team states about it, in YAML."""
        if not self.kind:
            return ""
        number = len(self.name) + len(self.team)
        stated = ["method:", f"  kind: {self.kind}", f"energy: {number / 4 + self.hidden}"]
        stated += [f"external: {('no', 'yes')[(number + self.hidden) % 2]}"]
        stated += [f"page: https://pages.example.org/{number}", f"approach: Number {number} of {self.track}"]
        return "".join(f"{line}\n" for line in stated)

    @property
    def head(self) -> str:
        """The metadata as comments, in a format that has comments."""
        if self.track == "films" or not self.kind:
            return ""
        return "".join(f"# {line}\n" for line in ("ir_metadata.start", *self.metadata.splitlines(), "ir_metadata.end"))

    @property
    def file(self) -> str:
        return f"{other_name(self.name, self.hidden)}.txt"

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Command:
    """A command of the organisers; the answer has this exit code."""

    at: datetime
    arguments: tuple[str, ...]
    code: int = 0


@dataclass(frozen=True)
class Request:
    """A request of a team to the service, about its entry with this name if it has one."""

    at: datetime
    method: str
    track: str
    team: str
    path: str
    body: str = ""
    status: int = 200


@dataclass(frozen=True)
class Change:
    """Something that the organisers or a team do with a file of the challenge."""

    at: datetime
    change: Callable[[Path], object]


Step = Delivery | Command | Request | Change


def command(at: datetime, line: str, *more: str, code: int = 0) -> Command:
    """A command, given the words of its line, and what has spaces in it."""
    return Command(at, (*line.split(), *more), code)


def replaced(*pairs: tuple[str, str]) -> Callable[[Path], object]:
    """Replaces texts in challenge.toml."""

    def change(folder: Path) -> None:
        file = folder / "challenge.toml"
        text = file.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")

    return change


def corrected(track: str, file: str, hidden: int, *, is_corrected: bool = True) -> Callable[[Path], object]:
    """Writes another solution."""
    return lambda folder: (folder / file).write_text(solution_text(track, hidden, corrected=is_corrected))


def publish_archive(folder: Path) -> None:
    """Put the public archive where pages link to it."""
    assert here("export", "--public", folder / "templates/static/challenge-archive.zip", "-C", folder).code == 0


END = day(31, 18)
"""When all is over."""


TORN = "# ir_metadata.start\n# kind: manual\n# ir_metadata.end\nq\n"
"""An invalid file with valid metadata."""


def season(hidden: int = 0) -> list[Step]:
    """All that happens, in the order of time."""
    wrong, down, clock = "A grade was wrong.", "The server was down.", "Their clock was wrong."
    x = other_name("", hidden)
    steps: list[Step] = [
        command(day(3), "split"),
        command(day(3), "commit"),
        command(day(3, 13), "run --executor serial"),
        command(day(4), f"teams token amber{x} --label laptop"),
        command(day(4), f"teams invite birch{x} --label desk --expires 2027-02-01T00:00:00Z"),
        command(day(4), "heads"),
        # The first phase
        Delivery(day(9), "songs", "hazel", "early", 0.6),
        Delivery(day(9, 13), "songs", "popular", "top", 0.3, "folder"),
        Delivery(day(9, 13), "films", "popular", "top", 0.3, "folder"),
        Delivery(day(9, 13), "runs", "popular", "top", 0.3, "folder"),
        Delivery(day(10), "songs", "amber", "first", 0.5),
        Delivery(day(10, 13), "songs", "amber", "second", 0.8),
        Delivery(day(10, 14), "songs", "amber", "third", 0.9),  # over the quota of the day
        Delivery(day(11), "songs", "birch", "net", 0.7, "inbox"),
        Delivery(day(11), "films", "birch", "net", 0.7, "inbox"),
        Delivery(day(11), "runs", "birch", "net", 0.7, "inbox"),
        command(day(11, 13), "run --executor serial"),
        Delivery(day(12), "films", "amber", "first", 0.4),
        Delivery(day(12), "films", "cedar", "wide", 0.6, "folder"),
        Delivery(day(12), "runs", "cedar", "wide", 0.6, "folder"),
        Delivery(day(12), "runs", "cedar", "deep", 0.4, "folder"),
        Delivery(day(12), "songs", "dahlia", "one", 0.6, "folder", "manual"),
        Delivery(day(12), "songs", "cedar", "bare", 0.4, "folder", ""),  # without its required metadata
        Delivery(day(12), "songs", "elder", "copy", 0.75),
        Delivery(day(12), "runs", "elder", "copy", 0.75, "inbox"),
        Delivery(day(12), "songs", "fern", "leaves", 0.2, "folder"),
        Delivery(day(12, 13), "songs", "gorse", "torn", content=TORN),
        Delivery(day(12, 14), "songs", "gorse", "empty", 0.5, "inbox", content=""),
        Request(day(12, 16), "PUT", "songs", "amber", "/picks", '{"entries": ["{first}"]}'),
        Request(day(12, 16), "DELETE", "songs", "amber", "/entries/{second}"),
        Delivery(day(12, 17), "songs", "gorse", "refused", 0.5),  # over the quota of rejected files
        command(day(13), "run --executor serial", code=1),
        command(day(13), f"teams merge dahlia{x} cedar{x} --reason", "They are one group."),
        command(day(13), f"teams disqualify elder{x} --reason", "Copied from another team."),
        command(day(13), f"teams rename gorse{x}", f"Gorse & Söhne{x}"),
        command(day(13), f"pick songs/birch{x}/net{x}.txt", code=1),  # it has another name in the record
        command(day(13), f"amend songs/dahlia{x}/one{x}.txt --received 2027-01-12T11:00:00Z --reason", clock),
        command(day(13), f"pick songs/dahlia{x}/one{x}.txt --reason", "By mail."),
        command(day(13), f"teams merge gorse{x} amber{x} --reason", "They work together."),
        command(day(13), f"teams unmerge gorse{x} --reason", "No more."),
        Delivery(day(13, 13), "songs", "gorse", "whole", 0.5),
        Request(day(13, 14), "PUT", "songs", "gorse", "/entries/{whole}/metadata", "kind: manual\nenergy: 2.5\n"),
        # Errata: one is discarded, one applied in each track
        Change(day(14), corrected("songs", "hidden/songs.qrels", hidden)),
        command(day(14), "erratum preview --track songs"),
        Change(day(14), corrected("songs", "hidden/songs.qrels", hidden, is_corrected=False)),
        command(day(14), "erratum cancel --track songs"),
        Change(day(15), corrected("songs", "hidden/songs.qrels", hidden)),
        command(day(15), "erratum preview --track songs"),
        Delivery(day(15, 13), "songs", "ivy", "between", 0.65),
        command(day(15, 14), "run --executor serial", code=1),
        command(day(15, 15), "erratum apply --track songs --reason", wrong),
        Change(day(15, 16), corrected("runs", "hidden/runs.qrels", hidden)),
        Change(day(15, 16), replaced(("quota = {per_phase = 5}", "quota = {per_phase = 6}"))),
        command(day(15, 16), "erratum preview --track runs"),
        command(day(15, 16), "erratum apply --track runs --reason", wrong),
        command(day(15, 17), "phases extend one --end 2027-01-21T00:00:00Z --track songs --reason", down),
        Delivery(day(16), "songs", "ivy", "better", 0.85, "inbox"),
        Delivery(day(16), "runs", "ivy", "better", 0.85),
        Delivery(day(16, 13), "runs", "ivy", "worse", 0.3),
        Delivery(day(16, 14), "runs", "ivy", "other", 0.5),
        Change(day(17), lambda folder: (folder / f"submissions/runs/cedar{x}_deep{x}.txt").unlink()),
        command(day(17), "run --executor serial", code=1),
        # A freeze
        Delivery(day(20, 13), "songs", "hazel", "frozen", 0.9),
        command(day(20, 14), "run --executor serial", code=1),
        Delivery(day(21, 0, 30), "songs", "hazel", "grace", 0.4),
        # Closed
        Delivery(day(22), "songs", "birch", "late", 0.95, "folder"),
        Delivery(day(22), "runs", "birch", "late", 0.95, "folder"),
        command(day(23), "run --executor serial", code=1),
        command(day(23), f"amend songs/birch{x}/late{x}.txt --meta kind=manual --reason", "They asked."),
        # The second phase
        Delivery(day(26), "songs", "amber", "fourth", 0.85),
        Delivery(day(26), "songs", "birch", "wide", 0.6, "inbox"),
        Delivery(day(26), "runs", "amber", "fourth", 0.55),
        Delivery(day(26), "runs", "birch", "two", 0.5, "folder"),
        Delivery(day(26), "films", "ivy", "green", 0.5, "inbox"),
        Delivery(day(27), "films", "birch", "again", 0.35),
        command(day(27), "run --executor serial", code=1),
        command(day(27, 13), "forget films/popular/top.txt --reason", "The disk was full."),
        command(day(27, 13), "retry"),
        command(day(28), "run --executor serial", code=1),
        command(day(29, 14), "run --executor serial", code=1),
        # Over
        command(day(30, 2), "run --executor serial", code=1),
        Delivery(day(30, 13), "songs", "hazel", "afterwards", 0.9),
        Delivery(day(30, 13), "runs", "hazel", "afterwards", 0.9, "inbox"),
        Change(day(31), replaced(*OVER)),
        command(day(31), "run --executor serial", code=1),
        command(day(31, 13), "reveal"),
        command(day(31, 13), "run --executor serial", code=1),
        Change(day(31, 14), publish_archive),
        command(day(31, 14), "run --executor serial", code=1),
    ]
    assert steps == sorted(steps, key=lambda step: step.at)
    for place, step in enumerate(steps):
        if isinstance(step, Delivery) and step.team != "popular":  # names of baselines are public
            steps[place] = replace(step, hidden=hidden)
    return steps


@contextmanager
def injected(clock: Callable[[], datetime]) -> Iterator[None]:
    """Let all databases that are opened read a clock, and let secrets and ids follow from how many there were before.

    Each size has its own numbers, so that another temporary name changes no key.
    """
    drawn: Counter[str] = Counter()

    def content(kind: str, size: int) -> bytes:
        drawn[kind] += 1
        return random.Random(f"{kind} {drawn[kind]}").randbytes(size)

    with pytest.MonkeyPatch.context() as patch:
        for function in (Store.open, import_bundle):
            defaults = function.__kwdefaults__
            assert defaults is not None
            patch.setitem(defaults, "clock", clock)
        patch.setattr(secrets, "token_bytes", lambda size=32: content(f"bytes {size}", size))
        patch.setattr(secrets, "token_hex", lambda size=32: content(f"hex {size}", size).hex())
        patch.setattr(secrets, "token_urlsafe", lambda size=32: content(f"text {size}", size).hex())
        patch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=content("uuid", 16), version=4))
        yield


class Server:
    """A service in a thread of this process."""

    def __init__(self, service: Service) -> None:
        service.rates.burst = 1e9
        config = uvicorn.Config(application(service), port=0, log_level="critical", access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            self._thread.join(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def request(self, method: str, path: str, token: str = "", body: bytes = b"") -> tuple[int, bytes]:
        connection = HTTPConnection(self.address.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@dataclass
class Season:
    """The challenge, on the way through its season."""

    folder: Path
    hidden: int = 0
    """Changes all that visitors do not see before the end: grades, names, and metadata."""
    now: datetime = field(default_factory=lambda: day(2))
    steps: list[Step] = field(default_factory=list)
    printed: list[tuple[str, Answer]] = field(default_factory=list)
    """The commands, with what they printed."""
    answers: list[tuple[str, int, bytes]] = field(default_factory=list)
    """What the service answered."""
    tokens: dict[str, str] = field(default_factory=dict)
    server: Server | None = None

    def __post_init__(self) -> None:
        self.steps = self.steps or season(self.hidden)
        write(self.folder, self.hidden)

    @property
    def challenge(self) -> Challenge:
        return read_challenge(self.folder)

    @property
    def site(self) -> Path:
        return self.folder / "public"

    @property
    def inbox(self) -> Path:
        """The folder of the folders for teams that `scorer collect` reads."""
        return self.folder.parent / "inbox"

    def play(self, until: datetime = END) -> None:
        """Let all happen until a time."""
        while self.steps and self.steps[0].at <= until:
            step = self.steps.pop(0)
            self.now = step.at
            if isinstance(step, Delivery):
                self.deliver(step)
            elif isinstance(step, Command):
                answer = self.run(*step.arguments)
                assert answer.code == step.code, (step, answer)
            elif isinstance(step, Request):
                body = step.body
                for name, index in self.entries(step.track, step.team).items():
                    body = body.replace("{" + name + "}", str(index))
                    step = replace(step, path=step.path.replace("{" + name + "}", str(index)))
                status, content = self.request(step.method, step.track, step.team, step.path, body.encode())
                assert status == step.status, (step, content)
            else:
                step.change(self.folder)
        self.now = until

    def run(self, *arguments: str | Path, record: bool = True) -> Answer:
        answer = here(arguments[0], *arguments[1:], "-C", self.folder)
        if record:
            self.printed.append((" ".join(map(str, arguments)), answer))
        return answer

    def verify(self, *arguments: str | Path) -> Answer:
        answer = here("verify", *arguments)
        self.printed.append((" ".join(map(str, ("verify", *arguments))), answer))
        return answer

    def token(self, team: str) -> str:
        if team not in self.tokens:
            self.tokens[team] = self.run("teams", "token", team, record=False).out.strip()
        return self.tokens[team]

    def entries(self, track: str, team: str) -> dict[str, int]:
        """The numbers of the entries of a team, by the names of their files."""
        content = json.loads(self.request("GET", track, team, "/entries")[1])
        names = {each["name"].partition(".")[0]: each["index"] for each in content["entries"]}
        return {name.removesuffix(other_name("", self.hidden)): index for name, index in names.items()}

    def request(self, method: str, track: str, team: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """What the service answers a team."""
        with self.serving() as server:
            path = f"/api/v1/tracks/{track}{path}" if track else f"/api/v1{path}"
            status, content = server.request(method, path, self.token(other_name(team, self.hidden)), body)
        self.answers.append((f"{method} {path}", status, content))
        return status, content

    def deliver(self, delivery: Delivery) -> None:
        """Hand in a file by its way."""
        track, team, name = delivery.track, delivery.folder, delivery.file
        if delivery.way == "service":
            number = uuid.UUID(bytes=hashlib.sha256(repr(delivery).encode()).digest()[:16], version=4)
            stated = {} if delivery.head else {"metadata": delivery.metadata}
            entry = f"/entries/{number}?{urlencode({'name': name, **stated})}"
            self.request("PUT", track, delivery.team, entry, delivery.text.encode())
            self.run("score", "--executor", "serial", record=False)  # as the loop of the service
            return
        folder = {"shell": self.folder.parent / "own" / track / team, "inbox": self.inbox / track / team}.get(
            delivery.way
        )
        path = (folder or self.folder / ("entries/songs" if track == "songs" else f"submissions/{track}") / team) / name
        if track == "runs" and folder is None:
            path = path.parents[1] / f"{team}_{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if delivery.metadata and not delivery.head:
            path.with_name(f"{path.name}.meta.yaml").write_text(delivery.metadata, encoding="utf-8")
        path.write_text(delivery.text, encoding="utf-8")
        os.utime(path, (delivery.at.timestamp(),) * 2)
        if delivery.way == "inbox":
            collected = self.run("collect", self.inbox / track, "--track", track)
            assert (collected.code == 0) == bool(delivery.text), collected
        elif delivery.way == "shell":
            assert self.submit(path, track, team).code == 0

    def submit(self, path: Path, track: str, team: str, *options: str) -> Answer:
        """Hand in a file from a shell that knows the address of the site only."""
        with self.serving() as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("SCORER_TOKEN", self.token(team))
            return here("submit", path, "--track", track, "--server", server.address, *options)

    @contextmanager
    def serving(self) -> Iterator[Server]:
        """The service, at a port of this machine; it reads the clock of the season."""
        if self.server is not None:
            yield self.server
            return
        with (
            Store.open(self.challenge.database_address) as store,
            Server(Service.open(self.challenge, store)) as server,
        ):
            self.server = server
            try:
                yield server
            finally:
                self.server = None


def write(folder: Path, hidden: int = 0) -> None:
    """Write the files of the challenge."""
    key = hashlib.sha256(bytes.fromhex(KEYS["songs"])).hexdigest()
    files = FILES | {"challenge.toml": SETTINGS.replace("SONGS_SHA256", key)}
    files["teams.toml"] = re.sub(r"(?<=\w)(?=\"\]|\"\n)", other_name("", hidden), files["teams.toml"])
    for track in TRACKS:
        files[f"hidden/{track}.{'txt' if track == 'films' else 'qrels'}"] = solution_text(track, hidden)
        files[f"hidden/{track}-slices.csv"] = "query,label\n" + "".join(
            f"{query},{('long', 'short')[number % 2]}\n" for number, query in enumerate(QUERIES)
        )
    files["hidden/films-people.txt"] = "".join(
        f"{query}:0:{_graded(items)}\n" for query, items in people(hidden).items()
    )
    sides = sorted(QUERIES, key=lambda query: query in preliminary("films"))
    files["hidden/films-clusters.csv"] = "query,cluster\n" + "".join(
        f"{query},secret-{number // 2}\n" for number, query in enumerate(sides)
    )
    files |= {f"hidden/{track}.key": f"{key}\n" for track, key in KEYS.items()}
    (folder / "data").mkdir(parents=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.startswith("hidden/"):
            path.chmod(0o600)


LOOKS = {
    "announced": day(4),
    "phase one": day(13, 20),
    "open erratum": day(15, 14),
    "freeze": day(20, 20),
    "closed": day(24),
    "phase two": day(27, 20),
    "second freeze": day(29, 20),
    "over": day(30, 20),
    "revealed": END,
}
"""When all that is public is looked at."""

COMMANDS = (
    ("status",),
    ("doctor",),
    ("phases",),
    ("teams",),
    ("teams", "list", "--format", "json"),
    ("teams", "tokens"),
    ("entries",),
    ("entries", "--format", "json"),
    ("entries", "--as-of", "40"),
    ("heads",),
    *(("leaderboard", "--format", each) for each in ("table", "csv", "markdown", "json", "latex")),
    *(("similar", "--track", track) for track in TRACKS),
)
"""What the organisers print at each look."""


def write_artefacts(target: Path, hidden: int = 0, *, whole: bool = True) -> None:
    """Write all that the challenge shows and keeps into a new folder: the same bytes each time.

    That is the site, what commands print and the service answers at each of `LOOKS`, and at the end the files for a
    paper, receipts, the bundle, the public archive, what they contain, and the sites of the imported challenge and of
    one whose database is that of "closed". All but `whole`: only the sites.
    """
    target.mkdir()
    memory = Path("/dev/shm")
    pairs = sorted({(step.track, step.team) for step in season() if isinstance(step, Delivery)})
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as base:
        live = Season(Path(base) / "live", hidden)
        with injected(lambda: live.now), live.serving():
            for name, moment in LOOKS.items():
                live.play(moment)
                assert live.run("render", "--organiser", Path(base) / "own", record=False).code == 0
                if name == "second freeze":
                    shutil.copytree(Path(base) / "own", target / name / "own")
                live.run("render")
                os.utime(live.site / ".manifest.json", (moment.timestamp(),) * 2)  # `status` says when it was rendered
                shutil.copytree(live.site, target / name / "site")
                assert live.run("paper", target / name / "paper").code == 0
                for track, team in pairs:
                    for path in ("/entries", "/quota", "/picks") if whole else ("/picks",):  # a team gets its token
                        live.request("GET", track, team, path)
                if whole:
                    for line in COMMANDS:
                        live.run(*line)
                    live.request("GET", "", "amber", "/events")
                    write_printed(live, target / name)
                if name == "closed":
                    shutil.copytree(live.folder / "data", live.folder.parent / "backup")
            if whole:
                finish(live, target / "end")


def finish(live: Season, target: Path) -> None:
    """Write what organisers make of a challenge that is over."""
    target.mkdir()
    base, site = live.folder.parent, live.site
    public = ("--key", site / "receipts.pem", "--log", site / "log.jsonl")
    for path in live.folder.rglob("2027*Z-*"):  # what was received has the time at which it was written
        os.utime(path, (live.now.timestamp(),) * 2)
    live.run("paper", target / "paper")
    live.run("receipt", "--all", target / "receipts")
    for name, *options in (("bundle", "--solutions", "--files"), ("archive", "--public")):
        assert live.run("export", *options, target / f"{name}.zip").code == 0
        with zipfile.ZipFile(target / f"{name}.zip") as made:
            made.extractall(target / name)
    live.verify("challenge", target / "archive.zip")
    live.verify("challenge", site)
    live.verify("bundle", target / "bundle.zip", "--log", site / "log.jsonl")
    live.verify("log", site / "log.jsonl")
    live.verify("commitment", site / "commitment.json", *public, "--opening", site / "commitment.txt")
    for track in KEYS:
        live.verify("split", site / track / "split.json")
    for receipt in sorted((target / "receipts").rglob("*.receipt.txt")):
        live.verify("receipt", receipt, *public)
    write_printed(live, target)
    live.printed.append(("import", here("import", target / "bundle.zip", base / "imported")))
    shutil.copytree(base / "imported" / "public", target / "imported")
    write_printed(live, target / "imported")
    shutil.rmtree(live.folder / "data")
    shutil.copytree(base / "backup", live.folder / "data")
    for line in (
        "run --executor serial",
        "restore",
        "run --executor serial",
        "doctor",
        "export " + str(target / "restored.zip"),
    ):
        live.run(*line.split())
    shutil.copytree(site, target / "restored")
    write_printed(live, target / "restored")


def write_printed(live: Season, target: Path) -> None:
    """Write what commands printed since, and what the service answered."""
    target.mkdir(exist_ok=True)
    lines = [f"$ {line}\n{answer.out}{answer.err}= {answer.code}\n" for line, answer in live.printed]
    text = "\n".join(lines).replace(str(target), "TARGET").replace(str(live.folder.parent), "BASE")
    (target / "printed.txt").write_text(text, encoding="utf-8")
    answered = b"".join(f"{line}\n{status} ".encode() + content + b"\n" for line, status, content in live.answers)
    (target / "answered.txt").write_bytes(answered)
    live.printed.clear()
    live.answers.clear()


if __name__ == "__main__":
    write_artefacts(Path(sys.argv[1]))
