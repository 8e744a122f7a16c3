"""The plan of a simulated challenge: what happens when, as plain data. Nothing here comes from scorer.

`season` draws the plan from a seed. `example/season.py` carries it out, and an oracle of the tests reads it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

Lists = Mapping[str, Sequence[str]]
"""By query: the items of a submission, the best first."""

Grades = Mapping[str, Mapping[str, int]]
"""By query: the grade of each item of a solution."""

Kind = Literal[
    "file", "upload", "complete", "delete", "pick", "rename", "merge", "unmerge", "disqualify", "withdraw",
    "reinstate", "amend", "forget", "extend", "solution", "preview", "apply", "cancel", "reveal", "run",
]  # fmt: skip


NEVER = datetime.min.replace(tzinfo=UTC)


ADJECTIVES = ("amber", "birch", "copper", "delta", "even", "fallow", "grey", "hollow", "inland", "juniper")
NOUNS = ("lamp", "gate", "wire", "fen", "tide", "kettle", "boat", "ladder", "shelf", "engine", "drawer", "river")

BASELINE = "popular-items"
UNSCORED = "zenith-kite"
"""A team whose files are all invalid."""

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FIRST_RUN = datetime(2027, 1, 28, 5, tzinfo=UTC)
SEASON = timedelta(days=94)
ERRATUM = datetime(2027, 3, 24, 9, tzinfo=UTC)
"""When a new solution of the first track is applied."""


@dataclass(frozen=True)
class PhasePlan:
    """A phase of a track: [start, end + grace)."""

    name: str
    start: datetime
    end: datetime
    grace: timedelta = timedelta(0)
    freeze: timedelta = timedelta(0)
    shows: Literal["score", "ladder", "nothing"] = "score"
    ladder_step: str = ""


@dataclass(frozen=True)
class QuotaPlan:
    """The limits of a team; days are calendar days in the zone."""

    zone: str
    per_day: int
    per_phase: int
    total: int
    rejected_per_day: int


@dataclass(frozen=True)
class TrackPlan:
    """The settings of a track, and its solutions."""

    name: str
    entry: Literal["best", "picks"]
    decimals: int | None
    """None: "auto"."""
    phases: tuple[PhasePlan, ...]
    quota: QuotaPlan
    queries: tuple[str, ...]
    preliminary: frozenset[str]
    """The queries that the solution flags."""
    solutions: tuple[Grades, ...]
    """The solution at the beginning, and those that replace it."""
    key: bytes | None = None
    """The key of the split; None: the solution has flags."""
    share: str = ""
    cutoffs: tuple[int, ...] = (2, 5)
    list_length: int = 10
    picks: int = 2
    baselines: tuple[str, ...] = ("popular-items",)


@dataclass(frozen=True)
class Content:
    """The content of a file."""

    text: str
    lists: Lists | None
    """None: the file is invalid."""

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Step:
    """One thing that happens."""

    at: datetime
    kind: Kind
    track: str = ""
    team: str = ""
    file: str = ""
    """The path below submissions/, with the track."""
    content: int = -1
    """A position in `Season.contents`; of a solution in `TrackPlan.solutions`."""
    time: datetime = NEVER
    """The time of receipt of a file, or the amended one; the new end of a phase; the clock of a run."""
    text: str = ""
    """A name, a reason, the other team of a merge, or the name of a phase."""
    files: tuple[str, ...] = ()
    """Those that a team picks, as `file`."""


@dataclass(frozen=True)
class Season:
    """A whole challenge."""

    seed: int
    tracks: tuple[TrackPlan, ...]
    contents: tuple[Content, ...]
    steps: tuple[Step, ...]
    """In order of time."""

    def track(self, name: str) -> TrackPlan:
        """The track with this name."""
        return next(track for track in self.tracks if track.name == name)


def at(month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    """A time of the season, in UTC."""
    return datetime(2027, month, day, hour, minute, second, tzinfo=UTC)


def team_names(count: int) -> list[str]:
    """The names of the folders of teams."""
    return [f"{ADJECTIVES[number % 10]}-{NOUNS[number // 10 * 7 % 12]}" for number in range(count)]


@dataclass
class _Draft:
    """A plan that is being drawn."""

    chance: random.Random
    tracks: tuple[TrackPlan, ...]
    teams: list[str]
    contents: list[Content] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    """How many files of a team in a track have names."""

    def content(self, track: TrackPlan, strength: float, *, valid: bool = True) -> int:
        """Draw the content of a file: better lists for a higher strength."""
        grades = track.solutions[0]
        items = [f"i{number}" for number in range(40)]
        lists: dict[str, list[str]] = {}
        for query in track.queries:
            good = [item for item, grade in grades[query].items() if grade > 0]
            found = [item for item in good if self.chance.random() < strength]
            others = [item for item in self.chance.sample(items, 12) if item not in good]
            mixed = found + others[: track.list_length - len(found)]
            self.chance.shuffle(mixed)
            lists[query] = sorted(mixed, key=lambda item: self.chance.random() - strength * (item in good))
        text = "".join(f"{query}:{','.join(row)}\n" for query, row in lists.items())
        if not valid:
            text += f"a line without a colon, {len(self.contents)}\n"
        self.contents.append(Content(text, lists if valid else None))
        return len(self.contents) - 1

    def new_file(self, track: TrackPlan, team: str, received: datetime) -> str:
        """A new name for a file of a team; every seventh one states its time."""
        number = self.names.get((track.name, team), 0)
        self.names[track.name, team] = number + 1
        name = f"{received:%Y%m%dT%H%M%SZ}-{number:03}.txt" if number % 7 == 6 else f"run-{number:03}.txt"
        return f"{track.name}/{team}/{name}"

    def add(self, when: datetime, kind: Kind, **values: object) -> None:
        """Add a step."""
        self.steps.append(Step(when, kind, **values))  # type: ignore[arg-type]


def season(seed: int = 20270128, *, teams: int = 60, files: int = 2500, runs: int = 94) -> Season:
    """Draw the plan of a season.

    Parameters
    ----------
    seed
        Determines everything.
    teams, files
        How many teams there are, and about how many files they submit in all tracks.
    runs
        How many runs there are, at equal distances.
    """
    chance = random.Random(seed)
    tracks = (_items(chance), _lists(chance))
    draft = _Draft(chance, tracks, team_names(teams))
    for track in tracks:
        _add_files(draft, track, files // len(tracks))
        draft.add(at(1, 29), "file", track=track.name, team=BASELINE, file=f"{track.name}/{BASELINE}.txt",
                  content=draft.content(track, 0.3), time=at(1, 29))  # fmt: skip
    _add_boundaries(draft)
    _add_merged(draft)
    _add_runs(draft, runs)
    _add_decisions(draft)
    _add_corrections(draft)
    _add_picks(draft)
    _add_unscored(draft)
    _add_before_freezes(draft)
    _add_vanished(draft)
    _add_forged(draft)
    draft.steps.sort(key=lambda step: step.at)
    return Season(seed, tracks, tuple(draft.contents), tuple(draft.steps))


# Tracks


def _items(chance: random.Random) -> TrackPlan:
    """A track with flags in the solution; its second solution differs in some grades."""
    queries = tuple(f"q{number}" for number in range(1, 31))
    first = _grades(chance, queries)
    second = {query: dict(grades) for query, grades in first.items()}
    for query in queries[::4]:
        second[query] = {f"i{item}": 1 + chance.randrange(3) for item in chance.sample(range(40), 5)}
    return TrackPlan(
        name="items",
        entry="best",
        decimals=2,
        phases=(
            PhasePlan("warm-up", at(2, 1, 8), at(2, 21, 17), grace=2 * HOUR),
            PhasePlan(
                "main", at(2, 24), at(4, 5, 12), grace=30 * MINUTE, freeze=3 * DAY, shows="ladder", ladder_step="0.01"
            ),
            PhasePlan("last", at(4, 10), at(4, 28, 23, 59, 59), shows="nothing"),
        ),
        quota=QuotaPlan("Europe/Ljubljana", per_day=3, per_phase=12, total=26, rejected_per_day=2),
        queries=queries,
        preliminary=frozenset(queries[1::3]),
        solutions=(first, second),
    )


def _lists(chance: random.Random) -> TrackPlan:
    """A track in which a key selects the preliminary queries."""
    queries = tuple(f"{number}" for number in range(101, 136))
    key, share = hashlib.sha256(b"a key of a simulated challenge").digest(), "0.4"
    first = _grades(chance, queries)
    second: dict[str, Mapping[str, int]] = {**first, queries[0]: {"i1": 3, "i2": 1}}
    return TrackPlan(
        name="lists",
        entry="picks",
        decimals=None,
        phases=(
            PhasePlan("open", at(2, 3, 12), at(3, 1, 12), grace=10 * MINUTE),
            PhasePlan("middle", at(3, 1, 12, 10), at(3, 30), shows="ladder", ladder_step="0.02"),
            PhasePlan("finale", at(4, 1), at(4, 26), grace=HOUR, freeze=2 * DAY),
        ),
        quota=QuotaPlan("Pacific/Auckland", per_day=2, per_phase=10, total=22, rejected_per_day=1),
        queries=queries,
        preliminary=frozenset(),
        solutions=(first, second),
        key=key,
        share=share,
    )


def _grades(chance: random.Random, queries: Sequence[str]) -> Grades:
    """A few graded items of each query; some queries have none."""
    return {
        query: {f"i{item}": 1 + chance.randrange(3) for item in chance.sample(range(40), chance.randrange(3, 8))}
        if number % 11 != 5
        else {}
        for number, query in enumerate(queries)
    }


# Files


def _add_files(draft: _Draft, track: TrackPlan, count: int) -> None:
    """The files of all teams: most within the phases, some early, late, replaced, deleted, copied or invalid."""
    chance, added = draft.chance, 0
    for number, team in enumerate(draft.teams):
        strength = 0.15 + 0.7 * chance.random()
        mean = count / len(draft.teams)
        wanted = max(2, round(mean * (0.5 + chance.random())))
        moments = [_moment(chance, track) for _ in range(wanted)]
        moments[0] = track.phases[0].start + chance.random() * 9 * DAY  # so that decisions find the team
        if number % 6 == 1:
            moments += _burst(chance, track)
        for moment in moments:
            added += 1
            _add_file(draft, track, team, moment.replace(microsecond=0), strength, added)
        if number % 6 == 3:
            _add_rejected(draft, track, team, strength)


def _moment(chance: random.Random, track: TrackPlan) -> datetime:
    """A time of receipt: 3 % early, 7 % between phases or late."""
    kind = chance.random()
    if kind < 0.03:
        return FIRST_RUN + HOUR + chance.random() * (track.phases[0].start - FIRST_RUN - 2 * HOUR)
    if kind < 0.1:
        earlier = chance.choice(track.phases)
        return earlier.end + earlier.grace + chance.random() * 2 * DAY
    phase = chance.choice(track.phases)
    return phase.start + chance.random() * (phase.end + phase.grace - phase.start)


def _burst(chance: random.Random, track: TrackPlan) -> list[datetime]:
    """Files around a midnight in the zone of the quota, near the day on which its clocks change."""
    zone = ZoneInfo(track.quota.zone)
    changes = [
        day for day in range(90)
        if datetime(2027, 2, 1, tzinfo=zone).utcoffset() != (at(2, 1) + day * DAY).astimezone(zone).utcoffset()
    ]  # fmt: skip
    local = (at(2, 1, 12) + (changes[0] + chance.randrange(-2, 2)) * DAY).astimezone(zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    return [midnight + chance.randrange(-9000, 9000) * timedelta(seconds=1) for _ in range(9)]


def _add_file(draft: _Draft, track: TrackPlan, team: str, moment: datetime, strength: float, number: int) -> None:
    """A file, and what happens to it later."""
    chance = draft.chance
    fate = chance.random()
    if fate < 0.04 and number > 5:
        content = chance.randrange(len(draft.contents))
        content = content if draft.contents[content].lists is None or _is_of(draft, content, track) else -1
    else:
        content = -1
    if content < 0:
        content = draft.content(track, strength, valid=fate < 0.92)
    arrives = moment + chance.random() * 30 * HOUR if number % 9 == 4 else moment
    file = draft.new_file(track, team, moment)
    common = {"track": track.name, "team": team, "file": file}
    received = moment
    if number % 97 == 13 and "/run-" in file:
        received = chance.choice((moment + 3 * DAY, at(1, 1) - 40 * 366 * DAY, FIRST_RUN - 60 * DAY))
    draft.add(arrives, "file", content=content, time=received, **common)
    later = arrives + (1 + chance.random() * 6) * DAY
    if received != moment or (later < ERRATUM + 2 * DAY and _has_closed(track, moment, later + 13 * DAY)):
        return  # `_add_vanished` chooses what happens after a close
    match number % 25:
        case 7:
            # The time in a name counts, also for a file that replaces another one.
            received = later.replace(microsecond=0) if "/run-" in file else moment
            draft.add(later, "file", content=draft.content(track, strength), time=received, **common)
        case 11:
            draft.add(later, "delete", **common)
        case 21:
            draft.add(later, "file", content=draft.content(track, strength), time=received, **common)
            draft.add(later + 3 * DAY, "file", content=content, time=received, **common)
        case 17:
            draft.add(later, "delete", **common)
            draft.add(later + 3 * DAY, "file", content=content, time=received, **common)


def _has_closed(track: TrackPlan, moment: datetime, later: datetime) -> bool:
    """Whether the phase of an entry received at a moment has closed later."""
    begun = [phase for phase in track.phases if phase.start <= moment] or [track.phases[0]]
    return begun[-1].end + begun[-1].grace <= later


def _is_of(draft: _Draft, content: int, track: TrackPlan) -> bool:
    lists = draft.contents[content].lists
    return lists is not None and set(lists) == set(track.queries)


def _add_rejected(draft: _Draft, track: TrackPlan, team: str, strength: float) -> None:
    """Invalid files on one day, and a valid one after them."""
    moment = at(3, 4, 3) + draft.chance.randrange(200) * HOUR
    for minute in range(5):
        received = moment + minute * 5 * MINUTE
        draft.add(received, "file", track=track.name, team=team, file=draft.new_file(track, team, received),
                  content=draft.content(track, strength, valid=minute == 4), time=received)  # fmt: skip


def _add_unscored(draft: _Draft) -> None:
    """An invalid file in each track, of a team without any other."""
    for track in draft.tracks:
        moment = track.phases[0].start + 2 * DAY
        draft.add(moment, "file", track=track.name, team=UNSCORED, file=draft.new_file(track, UNSCORED, moment),
                  content=draft.content(track, 0.5, valid=False), time=moment)  # fmt: skip


def _add_boundaries(draft: _Draft) -> None:
    """Files in the last second before, and in the first second of, each boundary of each phase."""
    second = timedelta(seconds=1)
    for track in draft.tracks:
        moments = [
            moment
            for phase in track.phases
            for boundary in (phase.start, phase.end, phase.end + phase.grace, phase.end - phase.freeze)
            for moment in (boundary - second, boundary)
        ]
        for number, moment in enumerate(moments):
            team = draft.teams[number % len(draft.teams)]
            draft.add(moment, "file", track=track.name, team=team, file=draft.new_file(track, team, moment),
                      content=draft.content(track, 0.5), time=moment)  # fmt: skip


def _add_merged(draft: _Draft) -> None:
    """Files of teams that are merged, on days before, during and after it: two of each team, so four of both."""
    track = draft.tracks[0]
    for pair in ((1, 4), (5, 6)):
        for day in (at(2, 26, 9), at(3, 11, 9), at(3, 30, 9)):
            for number in range(4):
                team, moment = draft.teams[pair[number % 2]], day + number * HOUR
                draft.add(moment, "file", track=track.name, team=team, file=draft.new_file(track, team, moment),
                          content=draft.content(track, 0.5), time=moment)  # fmt: skip


# Runs, and what the organiser does

JUMPS = {12: HOUR, 25: -HOUR, 38: DAY, 47: -DAY, 61: -HOUR, 75: HOUR}
"""The clock of a run, by its number in a season of 94 runs, minus the true time."""


def _add_runs(draft: _Draft, count: int) -> None:
    draft.add(FIRST_RUN, "run", time=FIRST_RUN)
    jumps = {round(number * count / 94): jump for number, jump in JUMPS.items()}
    for number in range(1, count + 1):
        moment = FIRST_RUN + SEASON * number / count
        moment = moment.replace(microsecond=0)
        draft.add(moment, "run", time=moment + jumps.get(number, timedelta(0)))
    for track in draft.tracks:
        for phase in track.phases:
            closes = phase.end + phase.grace
            draft.add(closes, "run", time=closes)


def _add_decisions(draft: _Draft) -> None:
    """Decisions about teams, extensions, an erratum in the first track, and a cancelled one in the second track."""
    teams = draft.teams
    draft.add(at(3, 2, 9), "rename", team=teams[2], text="The Second Shelf")
    draft.add(at(3, 9, 9), "rename", team=teams[3], text="Čaj & Kava <3")
    draft.add(at(4, 3, 13), "rename", team=teams[2], text="Renamed in the freeze")
    draft.add(at(3, 5, 10), "merge", team=teams[4], text=teams[1])
    draft.add(at(3, 8, 10), "merge", team=teams[6], text=teams[5])
    draft.add(at(3, 27, 10), "unmerge", team=teams[6], text="They work separately again.")
    draft.add(at(3, 15, 16), "disqualify", team=teams[7], text="Two accounts of one team.")
    draft.add(at(3, 20, 16), "withdraw", team=teams[8], text="At the wish of the team.")
    draft.add(at(4, 4, 15), "disqualify", team=teams[9], text="Decided during the freeze.")
    draft.add(at(4, 20, 16), "reinstate", team=teams[8], text="At the wish of the team.")
    draft.add(at(4, 1, 9), "extend", track="items", text="main", time=at(4, 7, 12))
    draft.add(at(4, 24, 18), "extend", track="lists", text="finale", time=at(4, 27, 6))
    draft.add(at(3, 19, 9), "solution", track="items", content=1)
    for moment in (at(3, 21, 9), at(3, 24, 9)):
        draft.add(moment, "run", time=moment)
    draft.add(at(3, 21, 9, 1), "preview", track="items")
    draft.add(at(3, 24, 9, 1), "apply", track="items", text="Some grades were those of other items.")
    draft.add(at(3, 10, 9), "solution", track="lists", content=1)
    draft.add(at(3, 10, 9, 30), "run", time=at(3, 10, 9, 30))
    draft.add(at(3, 10, 9, 31), "preview", track="lists")
    draft.add(at(3, 12, 9), "cancel", track="lists")
    draft.add(at(3, 12, 9, 1), "solution", track="lists", content=0)
    end = FIRST_RUN + SEASON
    draft.add(end + HOUR, "reveal", track="lists")
    draft.add(end + 2 * HOUR, "run", time=end + 2 * HOUR)


def _add_corrections(draft: _Draft) -> None:
    """Two of three entries whose time of receipt is impossible are amended two days later."""
    runs = sorted((step for step in draft.steps if step.kind == "run"), key=lambda step: step.at)
    count = 0
    for step in sorted((step for step in draft.steps if step.kind == "file"), key=lambda step: step.at):
        first = next((run for run in runs if run.at >= step.at), None)
        if first is None:
            continue
        impossible = step.time > first.time + 5 * MINUTE or step.time < FIRST_RUN - 5 * MINUTE
        if not impossible or any(
            each.file == step.file and each.at != step.at for each in draft.steps if each.kind in ("file", "delete")
        ):
            continue
        count += 1
        when = first.at + 2 * DAY + HOUR
        if count % 3 and when < FIRST_RUN + SEASON:
            draft.add(when, "amend", track=step.track, team=step.team, file=step.file, content=step.content,
                      time=step.at.replace(microsecond=0), text="The clock was wrong.")  # fmt: skip


def _add_picks(draft: _Draft) -> None:
    """Picks of some teams in the second track."""
    chance, track = draft.chance, draft.tracks[1]
    runs = sorted(step.at for step in draft.steps if step.kind == "run")
    # A team that is merged, and separated two days later: the picks are those of the other team.
    of_merged = tuple(_known_files(draft, track, draft.teams[6], at(3, 25), runs)[:1])
    draft.add(at(3, 25, 10), "pick", track=track.name, team=draft.teams[6], files=of_merged)
    for number, team in enumerate(draft.teams):
        if number % 3 == 2:
            continue
        for moment in (at(3, 3, 11), at(3, 25, 11), at(4, 25, 11))[number % 2 :: 2]:
            files = _known_files(draft, track, team, moment, runs)
            if len(files) >= 2:
                chosen = tuple(sorted(chance.sample(files, 1 + number % 2)))
                when = moment + number * MINUTE
                draft.add(when, "pick", track=track.name, team=team, files=chosen)


def _add_vanished(draft: _Draft) -> None:
    """Files of the first phase, and late ones, that teams replace or remove after its close and before the erratum."""
    track = draft.tracks[0]
    mine = sorted((step for step in draft.steps if step.track == track.name and step.file), key=lambda step: step.at)
    names = [step.file for step in mine]
    closed = [
        step for step in mine
        if "/run-" in step.file and names.count(step.file) == 1 and step.at == step.time < track.phases[1].start
    ]  # fmt: skip
    for number, step in enumerate(closed):
        common = {"track": track.name, "team": step.team, "file": step.file}
        moment = ERRATUM - (15 - number % 13) * DAY + number * MINUTE
        if number % 3 == 0:
            draft.add(moment, "delete", **common)
        if number % 3 == 1:
            draft.add(moment, "file", content=draft.content(track, 0.2), time=moment, **common)


def _known_files(draft: _Draft, track: TrackPlan, team: str, moment: datetime, runs: Sequence[datetime]) -> list[str]:
    """The files of a team that a run has imported by a moment, and that never change."""
    last = max((run for run in runs if run <= moment), default=FIRST_RUN)
    mine = [step for step in draft.steps if (step.track, step.team) == (track.name, team) and step.file]
    names = [step.file for step in mine]
    return sorted(step.file for step in mine if names.count(step.file) == 1 and step.at <= last)


def _add_before_freezes(draft: _Draft) -> None:
    """Files that a run records before a freeze, although they claim to be from it."""
    for track in draft.tracks:
        for phase in track.phases:
            if phase.freeze:
                frozen = phase.end - phase.freeze
                for number, received in enumerate((frozen + 2 * MINUTE, frozen + HOUR)):
                    file = f"{track.name}/{draft.teams[number]}/of-the-freeze.txt"
                    draft.add(frozen - 3 * MINUTE, "file", track=track.name, team=draft.teams[number], file=file,
                              content=draft.content(track, 0.9), time=received)  # fmt: skip
                draft.add(frozen - 2 * MINUTE, "run", time=frozen - 2 * MINUTE)


def _add_forged(draft: _Draft) -> None:
    """Files that come after a close and state a time before it, and uploads from before it that are completed after it.

    Both are the best of their phase. Runs look into the folder at the close and after it. The organiser amends the time
    of some forged files.
    """
    for track in draft.tracks:
        for number, phase in enumerate(track.phases):
            closes, stated = phase.end + phase.grace, (phase.end - 3 * HOUR).replace(microsecond=0)
            for team, name in zip(draft.teams, (f"{stated:%Y%m%dT%H%M%SZ}-forged", f"touched-{number}"), strict=False):
                forged = {"track": track.name, "team": team, "file": f"{track.name}/{team}/{name}.txt",
                          "content": draft.content(track, 1.0), "time": stated}  # fmt: skip
                draft.add(closes + 20 * MINUTE, "file", **forged)
                if number == 1:
                    draft.add(closes + 50 * MINUTE, "amend", **forged, text="The mail server confirms the time.")
            team, sent = draft.teams[2], phase.end - 2 * HOUR
            slow = {"track": track.name, "team": team, "file": f"{track.name}/{team}/slow-{number}.txt"}
            draft.add(sent, "upload", content=draft.content(track, 1.0), time=sent, **slow)
            for moment in (phase.end - HOUR, closes + 30 * MINUTE, closes + 70 * MINUTE):
                draft.add(moment, "run", time=moment)
            draft.add(closes + 60 * MINUTE, "complete", **slow)
