"""The formats there are, and which of them a file is in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from scorer.errors import Findings
from scorer.formats import delimited, json_document, jsonl, letor, parquet, trec, vlnet
from scorer.formats.format import Format
from scorer.formats.reading.batches import Batch, Graded, Ranked, Reader
from scorer.formats.reading.blocks import BYTE_ORDER_MARK, Block, blocks
from scorer.formats.reading.bytes import Digest, UnreadableError, open_bytes, read_chunk
from scorer.wording import quoted

FORMATS: dict[str, Format] = {
    module.NAME: module for module in (parquet, json_document, jsonl, delimited, letor, trec, vlnet)
}
"""By name, in the order in which they are tried: the ones that nothing else can look like first."""

Setting = Literal["solution_format", "submission_format", "from"]

SAMPLE_LINES = 20
SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class DetectedFormat:
    """A file's format, with the options that it is read with."""

    form: Format
    options: Mapping[str, str]
    guess: str = ""
    """Where the format was told from the content: how to name another."""

    @property
    def QUERY_ONCE(self) -> bool:  # noqa: N802 (as a Format has it)
        return self.form.QUERY_ONCE

    @property
    def LISTED_IS_RELEVANT(self) -> bool:  # noqa: N802
        return self.form.LISTED_IS_RELEVANT

    def graded(self, head: Block) -> Reader[Graded]:
        """How to read a solution that begins with the block `head`."""
        return self._doubted(head, self.form.graded(head, self.options))

    def ranked(self, head: Block) -> Reader[Ranked]:
        """How to read a submission, likewise."""
        return self._doubted(head, self.form.ranked(head, self.options))

    def _doubted(self, head: Block, read: Reader[Batch]) -> Reader[Batch]:
        """As `read`; a guess that turns out to fit no line of the first block is told for one."""
        if not self.guess:
            return read

        def doubted(block: Block, findings: Findings) -> Batch:
            before = findings.count
            batch = read(block, findings)
            if block is head and findings.count > before and not len(batch.query):
                told = f"no line can be read as {self.form.NAME}, which the first ones look like"
                findings.add(min(problem.line for problem in findings), f"{told}; {self.guess}")
            return batch

        return doubted


@contextmanager
def opened(
    path: str | os.PathLike[str], name: str | None, setting: Setting, digest: Digest | None = None
) -> Iterator[tuple[DetectedFormat, Block, Iterator[Block]]]:
    """The file's format, its first block that is not blank, and all blocks from that one on.

    `name` is the format's, with its options, or None to tell it from the content; `setting` is what it is named by, for
    the message where it cannot be told. All bytes of the file go into `digest`. Raises Unreadable.
    """
    with open_bytes(path, digest) as stream:
        told = format_named(name) if name else None
        start = read_chunk(stream)
        if told is None:
            told = _recognised(_sample(start.removeprefix(BYTE_ORDER_MARK)), setting, whole=True)
        if told is not None and told.form.WHOLE:
            head = Block((start + read_chunk(stream, whole=True)).removeprefix(BYTE_ORDER_MARK), 1)
            if not head.content.strip():
                raise UnreadableError("the file is empty")
            yield told, head, iter([head])
            return
        rest = blocks(stream, start)
        first = next((block for block in rest if block.content.strip()), None)
        if first is None:
            raise UnreadableError("the file is empty")
        yield told or _detected(first, setting), first, chain([first], rest)


def format_named(text: str) -> DetectedFormat:
    """The format that goes by a name, with its options, as in ``letor:feature=21``. Raises Unreadable."""
    name, _, settled = text.partition(":")
    if name not in FORMATS:
        raise UnreadableError(f"no format is called {quoted(name)}; there are {', '.join(reversed(FORMATS))}")
    form = FORMATS[name]
    options: dict[str, str] = {}
    for each in settled.split(",") if settled else ():
        option, _, value = each.partition("=")
        if option not in form.OPTIONS or not value:
            known = "; ".join(f"{option}={meaning}" for option, meaning in form.OPTIONS.items())
            raise UnreadableError(f"found {quoted(each)} as an option of {name}; it takes {known or 'none'}")
        options[option] = value
    return DetectedFormat(form, options)


def _detected(first: Block, setting: Setting) -> DetectedFormat:
    """The format that recognises the file's first lines."""
    lines = _sample(first.content)
    told = _recognised(lines, setting)
    if told is not None:
        return told
    example = "SOLUTION" if setting == "solution_format" else "SUBMISSION"
    looks = ", ".join(f"{getattr(known, example)} ({name})" for name, known in reversed(FORMATS.items()))
    raise UnreadableError(
        f"the format cannot be told from {quoted(lines[0])}; expected lines like {looks}; {_naming(setting)}",
        first.first_line,
    )


def _recognised(lines: list[str], setting: Setting, *, whole: bool = False) -> DetectedFormat | None:
    """The format that such lines are in, if any; `whole`: of those alone that are read as a whole."""
    for form in FORMATS.values():
        if whole <= form.WHOLE and lines and form.recognises(lines):
            return DetectedFormat(form, {}, _naming(setting))
    return None


def _sample(content: bytes) -> list[str]:
    """The first lines that are not blank."""
    lines = content[:SAMPLE_BYTES].decode("utf-8", errors="ignore").split("\n")
    return [line.strip("\r\n") for line in lines if line.strip()][:SAMPLE_LINES]


def _naming(setting: Setting) -> str:
    """How to say which format it is."""
    if setting == "from":
        return "to name it: --from NAME"
    return f"to name it: --{setting.replace('_', '-')} NAME, or {setting} in challenge.toml"
