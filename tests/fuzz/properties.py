"""What must hold for every file, valid or not."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from scorer.errors import LONGEST, MOST_SHOWN, Findings, SolutionError
from scorer.limits import Limits
from scorer.lists.detection import opened
from scorer.lists.reading import memory
from scorer.lists.reading.blocks import (
    BLOCK,
    BYTE_ORDER_MARK,
    GZIP,
    XZ,
    ZSTD,
    LimitError,
    UnreadableError,
    checked_utf8,
    open_bytes,
)
from scorer.lists.reading.tables import DECIDE
from scorer.lists.solution import Solution
from scorer.scoring.outcomes import Failed, Rejected, Scored
from scorer.scoring.submission import score
from scorer.wording import printable
from tests.fuzz.cases import Case
from tests.fuzz.model import MEASURES, RULES, Model
from tests.readers import agree, by_lines

Found = tuple[object, ...]
"""An outcome in values that can be compared."""


WITH_FAST_READER = ("vlnet", "trec", "delimited", "jsonl")


class BrokenError(AssertionError):
    """A property does not hold."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


def must(holds: bool, name: str, text: Callable[[], str]) -> None:
    """Raise BrokenError unless the property holds."""
    if not holds:
        raise BrokenError(name, text())


@dataclass(slots=True)
class Readings:
    """A case's file, and the outcomes of reading it in several ways."""

    case: Case
    path: Path
    solution: Solution
    """That of the model."""
    plain: bytes | None = None
    """The content after decompression; None where it is damaged."""
    lines: int = 0
    outcomes: dict[str, str] = field(default_factory=dict)

    def submission(self, named: str | None, threads: int = 1) -> Found:
        """Return the outcome of the file as a submission. Only Scored and Rejected are allowed."""
        rules = replace(self.case.rules, submission_format=named)
        outcome = score(self.solution, self.path, rules, threads=threads, limits=Limits())
        if isinstance(outcome, Rejected):
            must(bool(outcome.problems), "rejected with a reason", lambda: "no problems")
            return ("rejected", *self._findings(outcome.problems))
        if isinstance(outcome, Failed):
            raise BrokenError("only the allowed outcomes", repr(outcome))
        found = outcome.matched.found
        hits = (found.query.tolist(), found.rank.tolist(), found.grade.tolist())
        bounds = [] if outcome.extremes is None else [repr(extreme.tolist()) for extreme in outcome.extremes]
        # Ranks are compared with scores in the first block only.
        kept = [note for note in outcome.notes if not note.text.endswith(DECIDE)]
        notes = Findings(kept, outcome.notes.count - len([*outcome.notes]) + len(kept))
        return ("scored", repr(outcome.scores.tolist()), bounds, hits, outcome.counts, *self._findings(notes))

    def as_solution(self, named: str | None) -> Found:
        """Return the outcome of the file as a solution. Only a SolutionError is allowed."""
        try:
            read = Solution.read(self.path, named)
        except SolutionError as error:
            must(bool(error.findings), "rejected with a reason", lambda: "no findings")
            return ("refused", *self._findings(error.findings))
        self._used(read)
        return ("read", *content_of(read))

    def _used(self, read: Solution) -> None:
        """Score the lists of the model by a solution that has been read."""
        path = self.path.with_name("partner.jsonl")
        outcome = score(read, path, replace(self.case.rules, submission_format="jsonl"))
        allowed = isinstance(outcome, Scored | Rejected)
        must(allowed, "a solution that can be read can be used", lambda: repr(outcome))

    def _findings(self, findings: Findings) -> Found:
        must(len(findings.shown) <= MOST_SHOWN, "findings are bounded", lambda: f"{len(findings.shown)} are shown")
        for problem in findings:
            shown = repr(problem)[:1000]
            must(0 <= problem.line <= self.lines, "lines are in the file", lambda: f"{shown} of {self.lines} lines")  # noqa: B023
            must(printable(problem.text) == problem.text, "messages are printable", lambda: shown)  # noqa: B023
            must(len(problem.text) <= LONGEST, "messages are bounded", lambda: shown)  # noqa: B023
        return (findings.count, *sorted(map(str, findings)))


def content_of(solution: Solution) -> Found:
    """Return all that a solution holds."""
    ideal = solution.ideal
    arrays = (solution.flagged, ideal.query, ideal.rank, ideal.grade, ideal.tie_rank, solution.ids.keys)
    texts = (solution.queries.to_pylist(), solution.items.to_pylist())
    return (*texts, *(repr(array.tolist()) for array in arrays), solution.ids.item_of_entry.tolist())


def check(case: Case, folder: Path) -> dict[str, str]:
    """Read a case's file in all ways.

    Returns
    -------
    dict
        The outcome of the file as a submission and as a solution.

    Raises
    ------
    BrokenError
        A property does not hold. Any other exception, and any warning, is one that the package must not raise.
    """
    path = folder / "file"
    path.write_bytes(case.content)
    _write_partner(case.model, folder / "partner.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        readings = Readings(case, path, solution_of(case.model))
        readings.plain = _plain(path)
        readings.lines = _lines(path, readings.plain)
        submission, solution = readings.submission(case.named), readings.as_solution(case.named)
        if case.valid:
            _check_meaning(readings, submission)
        name = _detected(readings)
        if name is not None:
            _check_readers(readings, name, (submission, solution))
            _check_blocks(readings, name, (submission, solution))
        # Content that begins like a compressed file is read as one if it is not compressed itself.
        looks_binary = name == "parquet" or (readings.plain or b"").startswith((GZIP, XZ, ZSTD))
        if case.same is not None and not looks_binary:
            path.write_bytes(case.same)
            _compare("compression and line ends change nothing", (submission, solution), _both(readings, case.named))
    return {"submission": str(submission[0]), "solution": str(solution[0])}


def solution_of(model: Model) -> Solution:
    """Return the solution of a model, without a file."""
    findings = Findings()
    made = Solution.of([memory.graded_of(model.grades, findings)], findings)
    assert not findings
    return made


def _write_partner(model: Model, path: Path) -> None:
    lines = [json.dumps({"query": query, "items": model.ranking(query)}) for query in model.lists]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _plain(path: Path) -> bytes | None:
    try:
        with open_bytes(path) as stream:
            return stream.read()
    except Exception:
        return None


def _lines(path: Path, plain: bytes | None) -> int:
    """Return an upper bound of the line numbers of findings."""
    if plain is None:
        return 1 << 40
    if not plain.startswith(b"PAR1"):
        return plain.count(b"\n") + 1
    from pyarrow import BufferReader, parquet

    try:
        return max(int(parquet.ParquetFile(BufferReader(plain)).read().num_rows), plain.count(b"\n") + 1)
    except Exception:
        return 1 << 40


def _both(readings: Readings, named: str | None, threads: int = 1) -> tuple[Found, Found]:
    return readings.submission(named, threads), readings.as_solution(named)


def _compare(name: str, one: tuple[Found, Found], other: tuple[Found, Found], *, kinds_only: bool = False) -> None:
    for before, after in zip(one, other, strict=True):
        same = before[0] == after[0] if kinds_only else before == after
        must(same, name, lambda: f"{str(before)[:1500]} != {str(after)[:1500]}")  # noqa: B023


# --- Valid files ------------------------------------------------------------------------------------------------------


def _check_meaning(readings: Readings, submission: Found) -> None:
    """A valid file gives the scores of its model."""
    case, model = readings.case, readings.case.model
    used = readings.solution
    if case.kind == "submission":
        must(submission[0] == "scored", "a valid file is scored", lambda: str(submission)[:1000])
        outcome: Any = score(used, readings.path, replace(RULES, submission_format=case.named))
    else:
        used = Solution.read(readings.path, case.named)
        flagged = {query for query, flag in zip(used.queries.to_pylist(), used.flagged, strict=True) if flag}
        must(flagged == model.flagged, "a valid file is read with its flags", lambda: f"{flagged} != {model.flagged}")
        model = replace(model, lists=_without_scores(model))
        outcome = score(used, readings.path.with_name("partner.jsonl"), RULES)
    expected = model.scores()
    queries = used.queries.to_pylist()
    filled = {query for query in expected if model.grades[query] or query in queries}
    must(set(queries) == filled, "a valid file is read with its queries", lambda: f"{queries} != {filled}")
    scores = dict(zip(queries, outcome.scores.T.tolist(), strict=True))
    for query in queries:
        if not np.allclose(scores[query], expected[query], rtol=1e-9, atol=1e-12, equal_nan=True):
            found = f"query {query!r}: {scores[query]}, not {expected[query]} by {', '.join(map(str, MEASURES))}"
            raise BrokenError("a valid file has the scores of its meaning", found)


def _without_scores(model: Model) -> dict[str, list[tuple[str, float]]]:
    return {query: [(item, -float(rank)) for rank, item in enumerate(model.ranking(query))] for query in model.lists}


# --- Ways to read -----------------------------------------------------------------------------------------------------


def _check_readers(readings: Readings, name: str, found: tuple[Found, Found]) -> None:
    """The fast reader and the reader by lines agree, on whole files and on the rows of one block."""
    if name.partition(":")[0] not in WITH_FAST_READER:
        return
    with by_lines():
        slow = _both(readings, readings.case.named)
    _compare("the fast and the slow reader agree", found, slow)
    content = b"" if readings.plain is None else readings.plain.removeprefix(BYTE_ORDER_MARK)
    if not content.strip() or not _is_sound(content):
        return
    try:
        agree(content, name)
    except AssertionError as error:
        raise BrokenError("the fast and the slow reader agree", str(error)[:3000]) from error


def _check_blocks(readings: Readings, name: str, found: tuple[Found, Found]) -> None:
    """Small blocks, and several threads, change nothing."""
    if readings.plain is None or len(readings.plain) > Limits().expansion / 2 * len(readings.case.content):
        # The limit on expansion depends on the size of blocks.
        return
    rng = random.Random(readings.case.number)
    # Where bytes are not text, blocks before them have been read, and their findings stay.
    kinds_only = name != "parquet" and not _is_sound(readings.plain)
    # The format is named, because a small block would be a smaller sample for its detection.
    whole = found if readings.case.named else _both(readings, name)
    # A limit and another run end the reading of a block, and of what is found in it.
    kinds_only |= "(limits." in repr(whole) or "several runs" in repr(whole)
    # The first block decides which notation of LETOR the messages expect.
    kinds_only |= name.startswith("letor")
    block = max(5, len(readings.plain) // rng.choice([2, 3, 7, 20]))
    if name.startswith("jsonl") and not kinds_only and not _ordered_alike(readings.path, name, block):
        return
    with small_blocks(block), by_lines() if rng.random() < 0.2 else nullcontext():
        parts = _both(readings, name, rng.choice([1, 2, 3]))
    # The first block decides whether lines of four columns are qrels, or have ranks and scores.
    if name.startswith("trec") and "as in the first lines" in f"{whole} {parts}":
        return
    # The first block decides the layout of a file without a header.
    texts = f"{name} {whole} {parts}"
    if re.search("this is a solution|read as four columns", texts) or re.search(
        "^delimited.*(without a header|header=no|in brackets)", texts
    ):
        return
    _compare("blocks and threads change nothing", whole, parts, kinds_only=kinds_only)


def _ordered_alike(path: Path, name: str, block: int) -> bool:
    """Whether a small first block of JSON Lines has an item, which decides how all lines order items."""
    orders: list[str] = []
    for size in (BLOCK, block):
        with small_blocks(size), opened(path, name, "submission_format") as (detected, head, _):
            try:
                read: Any = detected.format.ranked(head, detected.options)
            except LimitError:
                return False
            orders.append(read.read.args[1])
    return orders[0] == orders[1]


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Read files in blocks of this many bytes, and collect scattered lists in several parts."""
    with (
        patch("scorer.lists.reading.blocks.BLOCK", size),
        patch("scorer.lists.reading.blocks.PARTITION_BYTES", 2 * size),
    ):
        yield


def _detected(readings: Readings) -> str | None:
    """Return the name of the format by which the file is read; None for an empty file, or one without a format."""
    if readings.plain is not None and not readings.plain.removeprefix(BYTE_ORDER_MARK).strip():
        return None
    if readings.case.named:
        return readings.case.named
    try:
        with opened(readings.path, None, "submission_format") as (detected, _, _):
            return detected.format.NAME
    except UnreadableError:
        return None


def _is_sound(content: bytes) -> bool:
    """Whether the bytes are text."""
    try:
        checked_utf8(content, 1)
    except UnreadableError:
        return False
    return True
