"""All formats, and what the first rows of a file say: its format, whether it is a solution or a submission, its tag."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Literal, Protocol

from scorer.errors import Findings, Problem
from scorer.files import is_regular
from scorer.limits import OWN_FILES, Limits
from scorer.lists.formats import (
    SolutionContent,
    SubmissionContent,
    delimited,
    json_document,
    jsonl,
    letor,
    parquet,
    trec,
    vlnet,
)
from scorer.lists.formats.layouts import EXAMPLES, WHITE, Reader, fields, is_number, rows_of_words
from scorer.lists.reading.arrow import text_lengths
from scorer.lists.reading.blocks import (
    BYTE_ORDER_MARK,
    SAMPLE_BYTES,
    VISIBLE,
    Batch,
    Block,
    Digest,
    Graded,
    InaccessibleError,
    LimitError,
    Ranked,
    UnreadableError,
    beginning,
    checked_utf8,
    line_blocks,
    open_bytes,
    read_chunk,
    read_whole,
    sample,
)
from scorer.lists.reading.tables import AmbiguousError
from scorer.wording import printable, quoted, shortened, texts_of


class Format(Protocol):
    """A notation for solutions and submissions. FORMATS lists the modules that implement it."""

    NAME: str
    SOLUTION: str
    """An example of a solution's line."""
    SUBMISSION: str
    """An example of a submission's line."""
    OPTIONS: Mapping[str, str]
    """The options after the name, as in ``letor:feature=21``, and their meanings."""

    def recognises(self, lines: list[str]) -> bool:
        """Whether a file with these first lines that are not blank is in this format."""

    def graded(self, head: Block, options: Mapping[str, str], /) -> Reader[Graded]:
        """Return the reader of a solution that begins with the block `head`. Raises UnreadableError."""

    def ranked(self, head: Block, options: Mapping[str, str], /) -> Reader[Ranked]:
        """Return the reader of a submission that begins with the block `head`. Raises UnreadableError."""

    def write_solution(self, solution: SolutionContent, options: Mapping[str, str], /) -> bytes:
        """Return a file with the solution. Raises UnwritableError for what the format cannot hold."""

    def write_submission(self, submission: SubmissionContent, options: Mapping[str, str], /) -> bytes:
        """Return a file with the submission. Raises UnwritableError for what the format cannot hold."""


FORMATS: dict[str, Format] = {
    module.NAME: module for module in (parquet, json_document, jsonl, delimited, letor, trec, vlnet)
}
"""The formats by name, in the order of detection: the most distinctive first."""

_DOCUMENTS: tuple[Format, ...] = (parquet, json_document)
"""Those whose files are read as one block, because their lines cannot be read one by one."""

NO_LISTS = r"version https://git-lfs\.github\.com|404: Not Found$"
"""The first lines of files that look like lists: a pointer of Git LFS, and an answer of GitHub."""

PERMUTED = re.compile(r"\S+\s+\[\s*([0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)\s*\]$")
"""A query and whole numbers in brackets."""

WORD = re.compile(r"[^\s,;:|{}\[\]\"]+")
SHAPE = 200
"""The characters of a line that are compared with the layouts."""

Setting = Literal["solution_format", "submission_format", "exclude", "from"]


@dataclass(frozen=True, slots=True)
class DetectedFormat:
    """A file's format and its options."""

    format: Format
    options: Mapping[str, str]
    hint: str = ""
    """How to name another format; empty where the user named this one."""
    setting: Setting = "submission_format"
    """What names the format."""
    is_predicted: bool = False
    """Whether the file has a number a line, for the rows of a solution in LETOR's format."""

    @property
    def is_vlnet(self) -> bool:
        """Whether each query has one row only, and every item that a solution lists is relevant, with any grade."""
        return self.format is vlnet

    def is_solution(self, head: Block) -> bool:
        """Whether a file that begins with `head` can be a solution and no submission; no for LETOR's format."""
        return self.format is not letor and _is_read(self.graded, head) and not _is_read(self.ranked, head)

    def graded(self, head: Block) -> Reader[Graded]:
        return self._checked(head, self.format.graded)

    def ranked(self, head: Block, solution: Sequence[Graded] | None = ()) -> Reader[Ranked]:
        """Return the reader of a submission; `solution` has the rows of one in LETOR's format; None: it is unknown."""
        return letor.predicted(solution) if self.is_predicted else self._checked(head, self.format.ranked)

    def solution_layout(self, read: Reader[Graded]) -> str:
        """Return the layout of a solution without a header, for people; empty for any other one."""
        if self.format in (trec, vlnet, letor):
            return str(self.format.SOLUTION)
        return "" if read.layout is None or read.layout.has_header else f"{read.layout}"

    @contextmanager
    def _choosing(self) -> Iterator[None]:
        """Add the option that chooses a column to the error for several."""
        try:
            yield
        except AmbiguousError as error:
            chosen = ",".join([*(f"{name}={value}" for name, value in self.options.items()), error.choice])
            error.advice = f", or {_hint(self.setting, printable(f'{self.format.NAME}:{chosen}'))}"
            raise

    def _checked(self, head: Block, reader: Callable[[Block, Mapping[str, str]], Reader[Batch]]) -> Reader[Batch]:
        """Return the reader, which raises LimitError for an id that is too long, before anything compares it.

        Where half of the lines were enough to detect the format and none of the first block can be read, report that.
        """
        with self._choosing():
            read = reader(head, self.options)

        def checked(block: Block, findings: Findings) -> Batch:
            before, most = findings.count, block.limits.id_bytes
            with self._choosing():
                batch = read(block, findings)
            for ids, what in ((batch.query, "a query"), (batch.item, "an item")):
                if (length := int(text_lengths(ids).max(initial=0))) > most:
                    found = f"the id of {what} has {length:,} bytes"
                    raise LimitError(block.limits, "id_bytes", found, block.first_line)
            is_likely = self.hint and self.format in (letor, vlnet) and block is head
            if is_likely and findings.count > before and not len(batch.query):
                found = f"the file looks like {self.format.NAME}, but none of its first lines can be read as such"
                first = min(problem.line for problem in findings)
                findings.put(Problem.of_form(first, found, f"; {self.hint}"))
            return batch

        return Reader(checked, read.layout, read.columns)


@contextmanager
def opened(
    path: str | os.PathLike[str],
    name: str | None,
    setting: Setting,
    digest: Digest | None = None,
    limits: Limits = OWN_FILES,
) -> Iterator[tuple[DetectedFormat, Block, Iterator[Block]]]:
    """Open a file, detect its format, unless it is named, with its options, and split it into blocks.

    `setting` names the format in messages; `digest` is updated with all bytes of the file. Yields the format, the first
    block that is not blank, and all blocks from that one on. Raises UnreadableError where the file cannot be read, its
    format cannot be detected, or it exceeds a limit.
    """
    with open_bytes(path, digest, limits) as stream:
        detected = format_named(name, setting) if name else None
        start = read_chunk(stream)
        if detected is None:
            detected = recognised(sample(start.removeprefix(BYTE_ORDER_MARK)), setting, one_block=True)
        if detected is not None and (detected.format in _DOCUMENTS or detected.is_predicted):
            content = read_whole(stream, limits, "the document", start).removeprefix(BYTE_ORDER_MARK)
            if detected.is_predicted:
                checked_utf8(content, 1)
            rest = iter([Block(content, 1, limits)])
        else:
            rest = line_blocks(stream, start, limits)
        first = next((block for block in rest if VISIBLE.search(block.content)), None)
        if first is None:
            raise UnreadableError("the file is empty")
        yield detected or _detected(first, setting), first, chain([first], rest)


def format_named(text: str, setting: Setting = "submission_format") -> DetectedFormat:
    """Return the format of this name, with its options, as in ``letor:feature=21``. Raises UnreadableError."""
    name, _, chosen = text.partition(":")
    if name not in FORMATS:
        raise UnreadableError(f"no format is called {quoted(name)}; there are {', '.join(reversed(FORMATS))}")
    options: dict[str, str] = {}
    # A run tag may have commas; it is the only option of a run.
    for choice in [chosen] if chosen.startswith("tag=") else chosen.split(",") if chosen else ():
        option, _, value = choice.partition("=")
        if option not in FORMATS[name].OPTIONS or not value:
            known = "; ".join(f"{option}={meaning}" for option, meaning in FORMATS[name].OPTIONS.items())
            raise UnreadableError(f"found {quoted(choice)} as an option of {name}; it takes {known or 'none'}")
        options[option] = value
    return DetectedFormat(FORMATS[name], options, setting=setting)


def _detected(first: Block, setting: Setting) -> DetectedFormat:
    """Return the format that recognises the file's first lines. Raises UnreadableError."""
    lines = sample(first.content)
    detected = recognised(lines, setting)
    if detected is not None:
        return detected
    # White space beyond ASCII is blank here only: the readers would take it as an id.
    found = lines[0] if lines else first.content[:SAMPLE_BYTES].decode(errors="ignore").strip("\r\n")
    if foreign := _foreign([found, *lines[1:]], setting):
        raise UnreadableError(foreign, first.first_line)
    columns = _columns(lines or [found], "grade" if setting == "solution_format" else "score")
    closest = ", ".join(f"{example} ({name})" for example, name in _closest(found, setting))
    raise UnreadableError(
        f"the format cannot be detected from {quoted(found)}; the closest layouts are {closest}",
        first.first_line,
        f"; {_hint(setting, f'NAME, as in {columns}')}",
    )


def _columns(lines: Sequence[str], number: str) -> str:
    """Return how the columns of a table are named that begins with these lines: by names, or by positions."""
    mark = next((mark for mark in "\t,;" if mark in lines[0]), WHITE)
    rows = fields(lines, mark)
    blank = "delimiter=blank," if mark == WHITE else ""
    if len(rows) > 1 and not any(map(is_number, rows[0])) and any(map(is_number, rows[1])):
        return f"delimited:{blank}query=Q,item=I,{number}={number[0].upper()}"
    return f"delimited:header=no,query=1,item=2,{number}=3{' (or rank=3)' if number == 'score' else ''}"


def _foreign(lines: Sequence[str], setting: Setting = "submission_format") -> str:
    """What a file is that begins with these lines and is of no format, as a message; empty for any other file."""
    line = lines[0] if lines else ""
    forms = {**texts_of(__file__)["files"], **(texts_of(__file__)["solutions"] if setting == "solution_format" else {})}
    known = (what for form, what in forms.items() if re.match(form, line.strip(), re.IGNORECASE))
    return next((f"found {quoted(shortened(line, 30))}: {what}" for what in chain(_answers(lines), known)), "")


def _answers(lines: Sequence[str]) -> Iterator[str]:
    """Yield what a file in JSON is that begins with these lines, if its form is another tool's."""
    if lines and lines[0].lstrip().startswith(("{", "[")):
        text = "\n".join(lines)
        yield from (what for form, what in texts_of(__file__)["answers"].items() if re.search(form, text))
    if lines and lines[0].endswith("]") and _are_permuted(lines):
        yield texts_of(__file__)["ranks"]["permuted"]


def _are_permuted(lines: Sequence[str]) -> bool:
    """Whether each line has all numbers from 1 in brackets, as the ranks of the candidates in MIND."""
    rows = [[*map(int, row[1].split(","))] if (row := PERMUTED.match(line)) else [] for line in lines]
    return all(row and sorted(row) == [*range(1, len(row) + 1)] for row in rows) and max(map(len, rows)) > 1


def _closest(line: str, setting: Setting) -> list[tuple[str, str]]:
    """Return the layouts that are most like a line, by the marks between words, each with the name of its format."""
    from difflib import SequenceMatcher  # noqa: PLC0415 (only for a message)

    kinds = {"solution_format": ("SOLUTION",), "submission_format": ("SUBMISSION",)}.get(
        setting, ("SOLUTION", "SUBMISSION")
    )
    layouts = [
        (example, name)
        for name, known in reversed(FORMATS.items())
        if known not in _DOCUMENTS
        for kind in kinds
        for example in getattr(known, kind).split(" or ")
    ]
    if "SUBMISSION" in kinds:
        layouts += [(example, delimited.NAME) for example in EXAMPLES]
    marks = WORD.sub("w", line[:SHAPE])
    return sorted(layouts, key=lambda layout: -SequenceMatcher(None, WORD.sub("w", layout[0]), marks).ratio())[:2]


def recognised(lines: list[str], setting: Setting, *, one_block: bool = False) -> DetectedFormat | None:
    """Return the first format that recognises the lines; with `one_block`, only of those read as one block."""
    if not lines or re.match(NO_LISTS, lines[0]) or any(_answers(lines)):
        return None
    if setting == "submission_format" and letor.are_predictions(lines):
        return DetectedFormat(letor, {}, setting=setting, is_predicted=True)
    for format_ in FORMATS.values():
        if one_block > (format_ in _DOCUMENTS):
            continue
        is_graded = format_ is delimited and setting != "submission_format" and delimited.recognises_solution(lines)
        is_known = is_graded or ((format_, setting) != (delimited, "solution_format") and format_.recognises(lines))
        if is_known:
            return DetectedFormat(format_, {}, _hint(setting), setting)
    return None


def _hint(setting: Setting, name: str = "NAME") -> str:
    if setting == "from":
        return f"name it with --from {name}"
    if setting == "exclude":
        return 'write the items of each query as {"query": "q", "items": ["a", "b"]}'
    return f"name it with --{setting.replace('_', '-')} {name}, or {setting} in challenge.toml"


def why_unreadable(path: str | os.PathLike[str], format_name: str | None, limits: Limits) -> str:
    """Why a submission can certainly not be read, by its beginning; empty for any other, and if it is inaccessible."""
    try:
        start = beginning(path, limits)
        whole, start = len(start) < SAMPLE_BYTES, start.removeprefix(BYTE_ORDER_MARK)
        if not VISIBLE.search(start):
            return "the file is empty" if whole else ""
        lines = sample(start)
        if not format_name and recognised(lines, "submission_format", one_block=True) is None:
            checked_utf8(start[: start.rfind(b"\n", 0, SAMPLE_BYTES) + 1], 1)
            return "" if recognised(lines, "submission_format") else _foreign(lines)
    except InaccessibleError:
        return ""
    except UnreadableError as error:
        return str(error)
    return ""


def _is_read(reader: Callable[[Block], Reader[Batch]], head: Block) -> bool:
    """Whether the first block has a row, and all of its rows are valid, or several columns may be meant."""
    findings = Findings()
    try:
        return len(reader(head)(head, findings).query) > 0 and not findings
    except AmbiguousError:
        return True
    except UnreadableError:
        return False


def run_tag(path: str | os.PathLike[str], format_name: str | None = None) -> str | None:
    """Return the tag of a run in TREC's format, which is detected or named: the sixth column of its first row.

    The tag that the name of the format chooses, if it does. None for a file of another format, and for one that cannot
    be read twice, such as standard input.
    """
    named = format_named(format_name) if format_name else None
    if not is_regular(path) or (named is not None and named.format is not trec):
        return None
    if named is not None and named.options.get("tag", "*") != "*":
        return named.options["tag"]
    try:
        start = beginning(path)
    except UnreadableError:
        return None
    if len(start) == SAMPLE_BYTES:
        start = start.rpartition(b"\n")[0]  # the last line may go on
    lines = sample(start.removeprefix(BYTE_ORDER_MARK))
    detected = named or recognised(lines, "from")
    if detected is None or detected.format is not trec:
        return None
    first = next(iter(rows_of_words(lines)), [])
    return first[trec.RUN_COLUMNS - 1].strip('"') if len(first) >= trec.RUN_COLUMNS else None
