"""The tools that are measured: how each is called on files, and how its numbers are read."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MEASURES = ("AP", "nDCG", "RR", "Rprec", "P@10")
"""What all of them know, by the names that scorer prints."""

SCORER = (sys.executable, "-c", "from scorer.cli import main; main()")

PEERS = ("pytrec-eval-terrier", "ir_measures", "ranx")
"""The libraries, by the names of their distributions."""

PEERS_SCRIPT = str(Path(__file__).with_name("peers.py"))

TREC_EVAL_NAMES = {"map": "AP", "ndcg": "nDCG", "recip_rank": "RR", "Rprec": "Rprec", "P_10": "P@10"}

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Files:
    """The same submissions in two forms, and what they are scored against."""

    solution: Path
    submissions: Sequence[Path]
    qrels: Path
    """The solution, for those that read nothing but TREC's formats."""
    runs: Sequence[Path]


def trec_files(qrels: Path, *runs: Path) -> Files:
    """Files of which there is TREC's form alone."""
    return Files(qrels, runs, qrels, runs)


@dataclass(frozen=True, slots=True)
class Tool:
    """A program."""

    name: str
    command: Callable[[Files], Sequence[str]]
    read: Callable[[str], list[Scores]]
    """From what it prints to the means of each submission."""
    tolerance: float = 1e-6
    """How far its numbers may be from scorer's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh_cache: str = ""
    """The variable that names a folder which must be empty each time."""

    @contextmanager
    def surroundings(self) -> Iterator[Mapping[str, str]]:
        """The environment for one run of it."""
        if not self.fresh_cache:
            yield self.environment
            return
        with tempfile.TemporaryDirectory() as empty:
            yield {**self.environment, self.fresh_cache: empty}


def evaluate(solution: Path, submissions: Sequence[Path]) -> list[str]:
    """The command line of `scorer evaluate`."""
    asked = [word for name in MEASURES for word in ("-m", name)]
    return [*SCORER, "evaluate", str(solution), *map(str, submissions), *asked, "--format", "json"]


def evaluated(text: str) -> list[Scores]:
    """What it prints."""
    return [each["scores"] for each in json.loads(text)["submissions"]]


def scorer() -> Tool:
    """The product, on files in the challenge's own format where there is one."""
    return Tool("scorer", lambda files: evaluate(files.solution, files.submissions), evaluated)


def scorer_on_trec() -> Tool:
    """The product on the very files that the peers read."""
    return Tool("scorer, TREC files", lambda files: evaluate(files.qrels, files.runs), evaluated)


def trec_eval(path: Path) -> Tool:
    """The C program: one process a run, started by a shell where there are several. It prints four decimals."""
    asked = ["-m", "map", "-m", "ndcg", "-m", "recip_rank", "-m", "Rprec", "-m", "P.10"]

    def command(files: Files) -> list[str]:
        qrels, runs = str(files.qrels), list(map(str, files.runs))
        if len(runs) == 1:
            return [str(path), *asked, qrels, *runs]
        loop = 'program=$1 qrels=$2; shift 2; for run; do "$program" ' + " ".join(asked) + ' "$qrels" "$run"; done'
        return ["sh", "-ec", loop, "sh", str(path), qrels, *runs]

    return Tool("trec_eval", command, _read_trec_eval, tolerance=0.5e-4 + 1e-9)


def _read_trec_eval(text: str) -> list[Scores]:
    rows = [line.split() for line in text.splitlines()]
    count = len(TREC_EVAL_NAMES)
    return [
        {TREC_EVAL_NAMES[name]: float(score) for name, _, score in rows[start : start + count]}
        for start in range(0, len(rows), count)
    ]


def peers(python: Path, names: Sequence[str], compiled: Path) -> list[Tool]:
    """The libraries of those names; `compiled` is where ranx finds its compiled code when it is warm."""
    tools = []
    for name in names:

        def command(files: Files, name: str = name) -> list[str]:
            return [str(python), PEERS_SCRIPT, name, "files", str(files.qrels), *map(str, files.runs)]

        if name == "ranx":
            cache = "NUMBA_CACHE_DIR"
            tools.append(Tool("ranx, warm", command, json.loads, environment={cache: str(compiled)}))
            tools.append(Tool("ranx, cold", command, json.loads, fresh_cache=cache))
        else:
            tools.append(Tool(name, command, json.loads))
    return tools


def peer_versions(python: Path) -> dict[str, str]:
    """Of the libraries that are installed in that Python."""
    told = subprocess.run([str(python), PEERS_SCRIPT, "versions"], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(told.stdout)
    return found


def trec_eval_version(path: Path) -> str:
    """As it tells it."""
    told = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False)
    return (told.stdout + told.stderr).split()[-1]


def difference(ours: Sequence[Scores], theirs: Sequence[Scores]) -> float:
    """The largest difference of any score of any submission."""
    return max(abs(mine[name] - other[name]) for mine, other in zip(ours, theirs, strict=True) for name in MEASURES)
