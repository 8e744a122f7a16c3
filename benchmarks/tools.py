"""The tools: how each is called on files, and how its output is read."""

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
"""Measures that all tools have, by the names that scorer prints."""

SCORER = (sys.executable, "-m", "scorer")

PYTREC_EVAL = "pytrec-eval-terrier"

PEERS = (PYTREC_EVAL, "ir_measures", "ranx")
"""The libraries, by the names of their distributions on PyPI."""

PEERS_SCRIPT = str(Path(__file__).with_name("peers.py"))

TREC_EVAL_NAMES = {"map": "AP", "ndcg": "nDCG", "recip_rank": "RR", "Rprec": "Rprec", "P_10": "P@10"}

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Files:
    """The same submissions and solution in two formats."""

    solution: Path
    submissions: Sequence[Path]
    qrels: Path
    """The solution, for tools that read only TREC files."""
    runs: Sequence[Path]


def trec_files(qrels: Path, *runs: Path) -> Files:
    """Return files that exist only in TREC format."""
    return Files(qrels, runs, qrels, runs)


@dataclass(frozen=True, slots=True)
class Tool:
    """A program."""

    name: str
    command: Callable[[Files], Sequence[str]]
    read: Callable[[str], list[Scores]]
    """Returns the means of each submission, given the output."""
    tolerance: float = 1e-6
    """The largest allowed difference from scorer's numbers."""
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh_cache: str = ""
    """The environment variable that names a cache folder, which is empty for each run."""
    scores: bool = True
    """Whether it computes scores; else it does a part of the work, and `read` returns nothing."""

    @contextmanager
    def surroundings(self) -> Iterator[Mapping[str, str]]:
        """Yield the environment of one run."""
        if not self.fresh_cache:
            yield self.environment
            return
        with tempfile.TemporaryDirectory() as empty:
            yield {**self.environment, self.fresh_cache: empty}


def evaluate(solution: Path, submissions: Sequence[Path]) -> list[str]:
    """Return the command line of `scorer evaluate`."""
    options = [word for name in MEASURES for word in ("-m", name)]
    return [*SCORER, "evaluate", str(solution), *map(str, submissions), *options, "--format", "json"]


def evaluated(text: str) -> list[Scores]:
    """Read the output of `scorer evaluate`."""
    return [each["scores"] for each in json.loads(text)["submissions"]]


def scorer() -> Tool:
    """Return scorer on files in the format of the challenge, or else in TREC format."""
    return Tool("scorer", lambda files: evaluate(files.solution, files.submissions), evaluated)


def scorer_on_trec() -> Tool:
    """Return scorer on the files that the peers read."""
    return Tool("scorer, TREC files", lambda files: evaluate(files.qrels, files.runs), evaluated)


READING = "pyarrow, reading only"

READ = """\
import sys
from pyarrow import csv
for path, names in zip(sys.argv[1:], ("query 0 item grade", "query 0 item 1 score 2")):
    columns = [name for name in names.split() if name.isalpha()]
    csv.read_csv(
        path,
        csv.ReadOptions(column_names=names.split()),
        csv.ParseOptions(delimiter=" ", quote_char=False),
        csv.ConvertOptions(
            include_columns=columns, column_types=dict(zip(columns, ("string", "string", "double")))
        ),
    )
"""


def reading() -> Tool:
    """Return pyarrow, which reads the columns of the files and does nothing with them: no tool in Python is faster."""

    def command(files: Files) -> list[str]:
        return [sys.executable, "-c", READ, str(files.qrels), str(files.runs[0])]

    return Tool(READING, command, lambda _: [], scores=False)


LIBRARIES = "numpy and pyarrow, import only"


def libraries() -> Tool:
    """Return a process that imports the libraries that scorer needs, and ends."""
    return Tool(LIBRARIES, lambda _: [sys.executable, "-c", "import numpy, pyarrow"], lambda _: [], scores=False)


def trec_eval(path: Path) -> Tool:
    """Return the C program: one process for each run, several in a loop of the shell. It prints four decimals."""
    options = ["-m", "map", "-m", "ndcg", "-m", "recip_rank", "-m", "Rprec", "-m", "P.10"]

    def command(files: Files) -> list[str]:
        qrels, runs = str(files.qrels), list(map(str, files.runs))
        if len(runs) == 1:
            return [str(path), *options, qrels, *runs]
        loop = 'program=$1 qrels=$2; shift 2; for run; do "$program" ' + " ".join(options) + ' "$qrels" "$run"; done'
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
    """Return the libraries of these names; `compiled` is the folder of compiled code for warm runs of ranx."""
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
    """Return the versions of the libraries that are installed in that Python."""
    done = subprocess.run([str(python), PEERS_SCRIPT, "versions"], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def trec_eval_version(path: Path) -> str:
    """Return the version that trec_eval prints."""
    done = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).split()[-1]


def difference(ours: Sequence[Scores], theirs: Sequence[Scores]) -> float:
    """Return the largest difference of any score of any submission."""
    return max(abs(mine[name] - other[name]) for mine, other in zip(ours, theirs, strict=True) for name in MEASURES)
