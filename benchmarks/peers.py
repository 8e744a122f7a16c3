"""The libraries among the peers: one process loads the files, evaluates, and prints the scores as JSON.

    python peers.py versions                       the installed versions
    python peers.py NAME files QRELS RUN...        the scores of each run
    python peers.py NAME kernel QRELS RUN          seconds of several evaluations of data in memory
    python peers.py NAME solutions QRELS RUN DEPTH CALLS
        the same for dicts with lists of that length, with the qrels kept and, for pytrec_eval, read again; with CALLS
        above 1, for so many runs of the same items one after the other

It runs in the Python that the peers are installed in, and imports nothing of the project. Each library is used as its
documentation shows: its readers, then its evaluation.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import groupby, islice
from pathlib import Path
from typing import Any, ClassVar, Protocol

REPEATED = 5

LEAST_SECONDS = 0.02
"""Calls are repeated until they take so long together, so that short ones are measured too."""

Run = Mapping[str, Mapping[str, float]]
"""Query -> item -> run score."""


class Peer(Protocol):
    """A library."""

    FORM: ClassVar[str]
    """The form of a run in memory."""

    def qrels(self, path: str) -> Any:
        """Read the qrels, once for all runs."""
        ...

    def run(self, path: str) -> Any:
        """Read a run."""
        ...

    def evaluator(self, qrels: Any) -> Any:
        """Return what `evaluate` takes as qrels, given them as a dict."""
        ...

    def evaluate(self, qrels: Any, run: Any) -> Mapping[str, float]:
        """Return the means, by scorer's names of the measures; the run may be a dict."""
        ...


class PytrecEval:
    """pytrec_eval: the C code of trec_eval on dicts."""

    FORM: ClassVar = "dicts"

    NAMES: ClassVar = {"AP": "map", "nDCG": "ndcg", "RR": "recip_rank", "Rprec": "Rprec", "P@10": "P_10"}

    def qrels(self, path: str) -> Any:
        """Return the evaluator, which has a copy of the qrels."""
        import pytrec_eval

        with Path(path).open() as lines:
            return self.evaluator(pytrec_eval.parse_qrel(lines))

    def evaluator(self, qrels: Any) -> Any:
        """Return the evaluator, given the qrels as a dict."""
        import pytrec_eval

        return pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "recip_rank", "Rprec", "P.10"})

    def run(self, path: str) -> Any:
        """Return a dict of dicts."""
        import pytrec_eval

        with Path(path).open() as lines:
            return pytrec_eval.parse_run(lines)

    def evaluate(self, qrels: Any, run: Any) -> Mapping[str, float]:
        """Evaluate each query, and return the means."""
        scores = qrels.evaluate(run).values()
        return {ours: sum(each[name] for each in scores) / len(scores) for ours, name in self.NAMES.items()}


class IrMeasures:
    """ir_measures: an interface to several tools; it uses pytrec_eval for these measures."""

    FORM: ClassVar = "rows"

    def qrels(self, path: str) -> Any:
        """Return the evaluator."""
        import ir_measures

        return self.evaluator(ir_measures.read_trec_qrels(path))

    def evaluator(self, qrels: Any) -> Any:
        """Return the evaluator, given the qrels as a dict or as rows."""
        import ir_measures
        from ir_measures import AP, RR, P, Rprec, nDCG

        return ir_measures.evaluator([AP, nDCG, RR, Rprec, P @ 10], qrels)

    def run(self, path: str) -> Any:
        """Return rows, which are read during the evaluation."""
        import ir_measures

        return ir_measures.read_trec_run(path)

    def evaluate(self, qrels: Any, run: Any) -> Mapping[str, float]:
        """Return the means."""
        return {str(measure): score for measure, score in qrels.calc_aggregate(run).items()}


class Ranx:
    """ranx: kernels compiled by numba."""

    FORM: ClassVar = "its own objects"

    NAMES: ClassVar = {"AP": "map", "nDCG": "ndcg", "RR": "mrr", "Rprec": "r-precision", "P@10": "precision@10"}

    def qrels(self, path: str) -> Any:
        """Return a ranx.Qrels."""
        from ranx import Qrels

        return Qrels.from_file(path, kind="trec")

    def evaluator(self, qrels: Any) -> Any:
        """Return a ranx.Qrels, given the qrels as a dict."""
        from ranx import Qrels

        return Qrels(qrels)

    def run(self, path: str) -> Any:
        """Return a ranx.Run."""
        from ranx import Run

        return Run.from_file(path, kind="trec")

    def evaluate(self, qrels: Any, run: Any) -> Mapping[str, float]:
        """Return the means, with the default number of threads, which is one per core."""
        from ranx import Run, evaluate

        scores = evaluate(qrels, Run(run) if isinstance(run, dict) else run, list(self.NAMES.values()))
        return {ours: float(scores[name]) for ours, name in self.NAMES.items()}


PEERS: Mapping[str, Peer] = {"pytrec-eval-terrier": PytrecEval(), "ir_measures": IrMeasures(), "ranx": Ranx()}
"""The libraries by the names of their distributions on PyPI."""


def versions() -> dict[str, str]:
    """Return the versions of the installed peers and of their dependencies."""
    found = {"Python": sys.version.split()[0]}
    for name in [*PEERS, "numpy", "numba"]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def frames(run: Run) -> dict[str, Any]:
    """Return the run as a frame of each library for frames that is installed: columns query, item and score."""
    columns: dict[str, list[Any]] = {
        "query": [query for query, items in run.items() for _ in items],
        "item": [item for items in run.values() for item in items],
        "score": [score for items in run.values() for score in items.values()],
    }
    return {name: import_module(name).DataFrame(columns) for name in ("pandas", "polars") if find_spec(name)}


def run_of_pandas(frame: Any) -> Run:
    """Return the dicts that pytrec_eval takes, by the fastest of the usual ways."""
    lists = frame.groupby("query", sort=False)
    return {query: dict(zip(rows["item"], rows["score"], strict=True)) for query, rows in lists}


def run_of_polars(frame: Any) -> Run:
    """Return the dicts that pytrec_eval takes, by the fastest of the usual ways."""
    run: dict[str, dict[str, float]] = {}
    for query, item, score in frame.iter_rows():
        run.setdefault(query, {})[item] = score
    return run


CONVERSIONS: Mapping[str, Callable[[Any], Run]] = {"pandas": run_of_pandas, "polars": run_of_polars}


def kernel(peer: Peer, qrels_path: str, run_path: str) -> dict[str, Any]:
    """Return the scores and the seconds of several evaluations, after a first one, which may compile.

    By the form of the data: pytrec_eval takes dicts only, so frames are converted, and the conversion is measured too.
    """
    qrels, run = peer.qrels(qrels_path), peer.run(run_path)
    results = {peer.FORM: timed(lambda: peer.evaluate(qrels, run))}
    if peer.FORM == "dicts":
        for name, frame in frames(run).items():
            results[name] = timed(partial(evaluated, peer, qrels, CONVERSIONS[name], frame))
    return results


def first_lines(path: str, depth: int | None) -> Iterator[str]:
    """Yield the first lines of each query of a TREC run, whose queries are one after the other."""
    with Path(path).open() as lines:
        for _, of_query in groupby(lines, key=lambda line: line.partition(" ")[0]):
            yield from islice(of_query, depth)


def qrels_as_dict(path: str) -> dict[str, dict[str, int]]:
    """Read TREC qrels as query -> item -> grade."""
    qrels: dict[str, dict[str, int]] = {}
    with Path(path).open() as lines:
        for line in lines:
            query, _, item, grade = line.split()
            qrels.setdefault(query, {})[item] = int(grade)
    return qrels


def run_as_dict(path: str, depth: int | None = None) -> dict[str, dict[str, float]]:
    """Read a TREC run as query -> item -> run score; the first items of each query; None: all."""
    run: dict[str, dict[str, float]] = {}
    for line in first_lines(path, depth):
        query, _, item, _, run_score, _ = line.split()
        run.setdefault(query, {})[item] = float(run_score)
    return run


def training_runs(run: Run, calls: int) -> list[Run]:
    """Return the run; or with several calls, as many runs of its items in other orders, as while a model is trained."""
    if calls == 1:
        return [run]
    return [
        {
            query: {item: float((place + call) % len(items)) for place, item in enumerate(items)}
            for query, items in run.items()
        }
        for call in range(calls)
    ]


def in_turn(evaluate: Callable[[Run], Mapping[str, float]], runs: Sequence[Run]) -> Mapping[str, float]:
    """Evaluate the runs, and return the means of the last one."""
    *_, last = map(evaluate, runs)
    return last


def solutions(peer: Peer, qrels_path: str, run_path: str, depth: int, calls: int) -> dict[str, Any]:
    """Return the scores and the seconds of the processor of evaluations of dicts, with the qrels kept, and for
    pytrec_eval with a new evaluator each.
    """
    qrels, runs = qrels_as_dict(qrels_path), training_runs(run_as_dict(run_path, depth), calls)
    kept = peer.evaluator(qrels)
    results = {"kept": timed(lambda: in_turn(partial(peer.evaluate, kept), runs), time.process_time)}
    if isinstance(peer, PytrecEval) and calls == 1:
        results["not kept"] = timed(lambda: peer.evaluate(peer.evaluator(qrels), runs[0]), time.process_time)
    return results


def evaluated(peer: Peer, qrels: Any, convert: Callable[[Any], Run], frame: Any) -> Mapping[str, float]:
    """Convert a frame, and return the means."""
    return peer.evaluate(qrels, convert(frame))


def timed(work: Callable[[], Mapping[str, float]], clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    """Return the result of a first call, and the mean seconds of several rounds of further ones."""
    scores = work()
    started = clock()
    work()
    calls = 1 + int(LEAST_SECONDS / max(clock() - started, 1e-6))
    seconds = []
    for _ in range(REPEATED):
        started = clock()
        for _ in range(calls):
            work()
        seconds.append((clock() - started) / calls)
    return {"scores": scores, "seconds": seconds}


def main(arguments: Sequence[str]) -> None:
    """Print the result of the requested task as JSON."""
    if arguments[0] == "versions":
        print(json.dumps(versions()))
        return
    name, task, qrels_path, *run_paths = arguments
    peer = PEERS[name]
    if task == "kernel":
        print(json.dumps(kernel(peer, qrels_path, run_paths[0])))
        return
    if task == "solutions":
        print(json.dumps(solutions(peer, qrels_path, run_paths[0], *map(int, run_paths[1:]))))
        return
    qrels = peer.qrels(qrels_path)
    print(json.dumps([peer.evaluate(qrels, peer.run(path)) for path in run_paths]))


if __name__ == "__main__":
    main(sys.argv[1:])
