"""Write the data of the gallery, docs/gallery.md: six situations, on generated data.

    python gallery.py NAME            write the folder NAME: trec, recsys, exercise, season, development or paper

The script needs nothing but Python. One seed for each situation determines every byte but the dates of the exercise.

The model: each query has candidates, a few of which are relevant. A run gives each candidate the score of its grade
times the skill of the run, and an error. All runs share a part of the error, so some queries are hard for all.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

Ranked = Mapping[str, Sequence[tuple[str, float]]]
"""By query: items with their scores, the best first."""


@dataclass(frozen=True)
class Collection:
    """Queries with the grades of their candidates."""

    draw: random.Random
    grades: Mapping[str, Mapping[str, int]]
    shared: Mapping[str, Mapping[str, float]]
    """The part of the error that all runs have."""

    @classmethod
    def drawn(cls, seed: int, queries: Sequence[str], items: Sequence[str], candidates: int) -> Collection:
        """Draw the candidates of each query; one of seven is relevant, and one of three of these highly."""
        draw = random.Random(seed)
        grades, shared = {}, {}
        for query in queries:
            drawn = sorted(items, key=lambda _: draw.random())[:candidates]
            grades[query] = {item: (1 + (draw.random() < 1 / 3)) * (draw.random() < 1 / 7) for item in drawn}
            grades[query][drawn[0]] = 2  # every query has one
            shared[query] = {item: _error(draw) for item in drawn}
        return cls(draw, grades, shared)

    def run(self, skill: float, length: int, weak: Sequence[str] = ()) -> Ranked:
        """Rank the candidates; on the `weak` queries with half of the skill."""
        ranked = {}
        for query, grades in self.grades.items():
            at = skill / 2 if query in weak else skill
            scores = {
                item: round(at * grade + self.shared[query][item] + _error(self.draw), 4)
                for item, grade in grades.items()
            }
            ranked[query] = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:length]
        return ranked


def _error(draw: random.Random) -> float:
    """Nearly a normal error; only additions, so it is the same on every machine."""
    return draw.random() + draw.random() + draw.random() - 1.5


def _numbered(letter: str, number: int) -> list[str]:
    return [f"{letter}{at:03}" for at in range(1, number + 1)]


class Team(NamedTuple):
    """A team and its runs."""

    name: str
    runs: Sequence[float]
    """The skill of each."""


class Folder:
    """The folder of a situation."""

    def __init__(self, name: str) -> None:
        self.root = Path(name)
        self.root.mkdir()

    def write(self, name: str, lines: Iterator[str] | Sequence[str]) -> None:
        """Write a file, whose lines end with a line feed on every system."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def qrels(collection: Collection, pooled: Sequence[Ranked] = (), depth: int = 0) -> Iterator[str]:
    """TREC's qrels; with runs, only of the items that one of them has in its first ranks."""
    for query, grades in collection.grades.items():
        pool = {item for ranked in pooled for item, _ in ranked[query][:depth]}
        yield from (f"{query} 0 {item} {grade}" for item, grade in sorted(grades.items()) if item in pool or not pooled)


def trec_run(ranked: Ranked, tag: str) -> Iterator[str]:
    """The six columns of TREC."""
    for query, items in ranked.items():
        for rank, (item, score) in enumerate(items, 1):
            yield f"{query} Q0 {item} {rank} {score} {tag}"


def lists(ranked: Ranked) -> Iterator[str]:
    """A list for each query, as VL.NET has it."""
    return (f"{query}:{','.join(item for item, _ in items)}" for query, items in ranked.items())


def flagged(collection: Collection) -> Iterator[str]:
    """The solution as VL.NET has it, without preliminary queries."""
    for query, grades in collection.grades.items():
        relevant = sorted((-grade, item) for item, grade in grades.items() if grade)
        yield f"{query}:0:" + ",".join(f"{item}|{-grade}" for grade, item in relevant)


TREC = """
name = "Ad hoc retrieval"
description = "Thirty topics. Every run is a row of the board; the pool is the first ten ranks of the main runs."

[tracks.adhoc]
title = "Ad hoc"
solution = "solutions/adhoc.qrels"
list_length = 40
primary = "nDCG@10"
measures = ["AP", "P@10", "Judged@10"]
submission_format = "trec"
rows = "entry"
rows_per_team = 2
judged_bounds = "list"

[[metadata]]
name = "kind"
title = "Kind of run"
type = "choice"
choices = ["automatic", "manual"]
required = true
"""


def trec() -> None:
    """A track with runs in TREC's format, judged by pooling, with metadata for each run."""
    folder = Folder("trec")
    topics = [str(number) for number in range(701, 731)]
    collection = Collection.drawn(701, topics, _numbered("doc", 400), 80)
    teams = [
        Team("alder", (1.1, 0.8)),
        Team("birch", (1.0, 0.4)),
        Team("cedar", (0.7, 0.7)),
        Team("dogwood", (0.3, 0.2)),
    ]
    runs = {team.name: [collection.run(skill, 40) for skill in team.runs] for team in teams}
    folder.write("challenge.toml", TREC.strip().splitlines())
    folder.write("solutions/adhoc.qrels", qrels(collection, [first for first, _ in runs.values()], 10))
    for team, both in runs.items():
        for kind, ranked in zip(("automatic", "manual"), both, strict=True):
            name = f"submissions/adhoc/{team}/20261101T120000Z-{kind}.run"
            folder.write(name, trec_run(ranked, f"{team}-{kind}"))
            folder.write(f"{name}.meta.yaml", [f"kind: {kind}"])


RECSYS = """
name = "The next track"
description = "Recommend music: to users with a long history, and to new ones."

[tracks.regular]
title = "Regular users"
solution = "solutions/regular.csv"
queries = "queries/regular.txt"
items = "items.txt"
exclude = "history/regular.jsonl"
slices = "slices.csv"
list_length = 20
primary = "nDCG@20"
measures = ["RR", "R@20"]
submission_format = "delimited:query=user,item=track"

[tracks.new]
title = "New users"
solution = "solutions/new.csv"
queries = "queries/new.txt"
items = "items.txt"
list_length = 20
primary = "nDCG@20"
measures = ["RR", "R@20"]
submission_format = "delimited:query=user,item=track"

[overall]
tracks = ["regular", "new"]
weights = [2, 1]
"""


def recsys() -> None:
    """Two tracks with an overall ranking; items that a user knows do not count; slices by age group."""
    folder = Folder("recsys")
    items = _numbered("track", 300)
    folder.write("challenge.toml", RECSYS.strip().splitlines())
    folder.write("items.txt", items)
    skills = {"echo": (1.2, 0.5), "fugue": (1.1, 0.9), "gavotte": (0.8, 1.0), "hymn": (0.5, 0.5)}
    for at, (track, users) in enumerate({"regular": _numbered("u", 60), "new": _numbered("n", 40)}.items()):
        collection = Collection.drawn(20 + at, users, items, 60)
        folder.write(f"queries/{track}.txt", users)
        rows = (f"{user},{item},{grade}" for user, of in collection.grades.items() for item, grade in of.items())
        folder.write(f"solutions/{track}.csv", ["query,item,grade", *rows])
        known = {user: [item for item in sorted(of) if not of[item]][:5] for user, of in collection.grades.items()}
        if track == "regular":
            folder.write(f"history/{track}.jsonl", [_json(user, of) for user, of in known.items()])
            folder.write("slices.csv", ["query,label", *(f"{user},{_age(user)}" for user in users)])
        for team, skill in skills.items():
            ranked = collection.run(skill[at], 30, [user for user in users if team == "fugue" and _age(user) == "60+"])
            table = [f"{user},{item},{score}" for user, pairs in ranked.items() for item, score in pairs]
            folder.write(f"submissions/{track}/{team}.csv", ["user,track,score", *table])
    folder.write("draft.csv", ["user,track,score", "u001,track001,0.9", "u001,track999,0.8", "u002,track007,high"])


def _json(user: str, items: Sequence[str]) -> str:
    quoted = ", ".join(f'"{item}"' for item in items)
    return f'{{"query": "{user}", "items": [{quoted}]}}'


def _age(user: str) -> str:
    return ("under 30", "30 to 59", "60+")[int(user[1:]) % 3]


EXERCISE = """
name = "Exercise 4: rank the answers"
description = "Rank the answers to each question. Beat the baseline of the lecture for full marks."

[tracks.exercise]
title = "Exercise 4"
solution = "solutions/exercise.txt"
queries = "queries/exercise.txt"
list_length = 10
primary = "AP"
measures = ["RR", "P@5"]
baselines = ["lecture-baseline"]
entry = "last"
quota = {per_day = 3}

[[tracks.exercise.phases]]
name = "exercise"
"""

PSEUDONYMS = """
[visibility]
names = "never"
"""


PHASE = {"start": timedelta(hours=-1), "end": timedelta(days=14)}


def exercise() -> None:
    """Students hand in lists in the next two weeks; the board has pseudonyms; two hand in nearly the same."""
    folder = Folder("exercise")
    questions = _numbered("q", 25)
    collection = Collection.drawn(4, questions, _numbered("a", 250), 50)
    now = datetime.now(UTC)
    dates = [f"{key} = {now + wait:%Y-%m-%dT%H:%M:%SZ}" for key, wait in PHASE.items()]
    folder.write("challenge.toml", [*EXERCISE.strip().splitlines(), *dates, *PSEUDONYMS.splitlines()])
    folder.write("solutions/exercise.txt", flagged(collection))
    folder.write("queries/exercise.txt", questions)
    skills = {"desk-1": 1.3, "desk-2": 0.9, "desk-3": 0.7, "desk-4": 0.6, "desk-5": 1.0, "desk-6": 0.2, "desk-7": 0.8}
    runs = {name: collection.run(skill, 10) for name, skill in skills.items()}
    runs["lecture-baseline"] = collection.run(0.5, 10)
    # Everything by another student, but the last two items of each list.
    runs["desk-8"] = {query: [*items[:8], items[9], items[8]] for query, items in runs["desk-3"].items()}
    for name, ranked in sorted(runs.items()):
        folder.write(f"submissions/exercise/{name}.txt", lists(ranked))


SEASON = """
name = "A season"
description = "Three weeks, two entries a day, public scores on a third of the queries."

[tracks.main]
title = "Main track"
solution = "solutions/main.qrels"
list_length = 10
primary = "nDCG@10"
decimals = 3
split = {preliminary = 0.33}
final = "rest"
entry = "picks"
picks = 2
quota = {per_day = 2, zone = "Europe/Ljubljana", total = 20}
trusted_times = true
stage = "preliminary"
"""


def season() -> None:
    """Teams try often, see scores on a part of the queries, and pick; the other queries decide."""
    folder = Folder("season")
    collection = Collection.drawn(2010, _numbered("q", 90), _numbered("i", 300), 50)
    folder.write("challenge.toml", SEASON.strip().splitlines())
    folder.write("solutions/main.qrels", qrels(collection))
    folder.write("split.key", [f"{2010:064}"])
    (folder.root / "split.key").chmod(0o600)
    for team, skill in {"iris": 0.80, "jasmine": 0.79, "kale": 0.77, "lotus": 0.72, "maple": 0.5}.items():
        for day in range(6):
            for hour in (8, 16):
                ranked = collection.run(skill + day / 100, 10)
                time = datetime(2026, 10, 1 + 3 * day, hour, tzinfo=UTC) + timedelta(minutes=len(team))
                folder.write(
                    f"submissions/main/{team}/{time:%Y%m%dT%H%M%SZ}-day{day + 1}-{hour:02}.run", trec_run(ranked, team)
                )
    third = datetime(2026, 10, 1, 18, tzinfo=UTC)
    folder.write(
        f"submissions/main/iris/{third:%Y%m%dT%H%M%SZ}-one-too-many.run", trec_run(collection.run(1.5, 10), "iris")
    )
    folder.write("picks.txt", [f"main/{team}/20261016T{_time(team)}Z-day6-08.run" for team in ("iris", "kale")])


def _time(team: str) -> str:
    return f"08{len(team):02}00"


DEVELOPMENT = """
name = "Development and test"
description = "Develop on one collection for a week; the test queries are published then, for three days."
overall = {tracks = ["development", "test"], weights = [1, 3], missing = "unranked"}
"""

STAGE = """
[tracks.{name}]
title = "{title}"
solution = "solutions/{name}.txt"
{remark}queries = "queries/{name}.txt"
list_length = 10
primary = "nDCG@10"
measures = ["AP"]
entry = "{entry}"
baselines = ["baseline"]
quota = {{{quota}}}
phases = [{{name = "{name}", start = {start}, end = {end}, shows = "{shows}"}}]
"""

STAGES = {
    "development": {"remark": "", "title": "Development", "entry": "best", "quota": "per_day = 5", "shows": "score"},
    "test": {"remark": "# ", "title": "Test", "entry": "last", "quota": "total = 2", "shows": "nothing"},
}


def development() -> None:
    """Teams develop with scores at once; the test track opens when development has closed, and hides its scores."""
    folder = Folder("development")
    today = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    opens = {"development": today - timedelta(days=1), "test": today + timedelta(days=6)}
    closes = {"development": opens["test"], "test": opens["test"] + timedelta(days=3)}
    lines = DEVELOPMENT.strip().splitlines()
    for name, stage in STAGES.items():
        times = {"start": f"{opens[name]:%Y-%m-%dT%H:%M:%SZ}", "end": f"{closes[name]:%Y-%m-%dT%H:%M:%SZ}"}
        lines += STAGE.format(name=name, **stage, **times).splitlines()
    folder.write("challenge.toml", lines)
    teams = {"alder": 0.9, "birch": 0.8, "cedar": 0.6, "baseline": 0.4}
    for seed, (name, letter) in enumerate({"development": "d", "test": "t"}.items()):
        queries = _numbered(letter, 40)
        collection = Collection.drawn(60 + seed, queries, _numbered("i", 300), 50)
        folder.write(f"solutions/{name}.txt", flagged(collection))
        folder.write(f"queries/{name}.txt", queries)
        for team, skill in teams.items():
            where = "submissions/development" if name == "development" else "ready"
            folder.write(f"{where}/{team}.txt", lists(collection.run(skill, 10)))


def paper() -> None:
    """Four systems on the same queries: a baseline, its rival, and two variants."""
    folder = Folder("paper")
    queries = _numbered("q", 60)
    collection = Collection.drawn(60, queries, _numbered("d", 500), 60)
    long = queries[::3]
    folder.write("qrels.txt", qrels(collection))
    folder.write(
        "slices.csv", ["query,label", *(f"{query},{'long' if query in long else 'short'}" for query in queries)]
    )
    for name, skill in {"bm25": 0.55, "dense": 0.75, "rerank": 0.95, "rerank-small": 0.9}.items():
        folder.write(f"{name}.run", trec_run(collection.run(skill, 40, long if name == "dense" else ()), name))


SITUATIONS: Mapping[str, Callable[[], None]] = {
    each.__name__: each for each in (trec, recsys, exercise, season, development, paper)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the data of a situation of docs/gallery.md.")
    parser.add_argument("name", choices=SITUATIONS, help="the situation, and the folder to write; it must not exist")
    SITUATIONS[parser.parse_args().name]()
