"""Run: ranked lists from a file or from memory, read in parts of whole lists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

from scorer.errors import Findings, FusionError, ScorerError, SubmissionError
from scorer.formats.detection import opened
from scorer.formats.reading import memory
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.bytes import UnreadableError
from scorer.matching.partition import AHEAD, TemporarySpaceError, by_query, ordered, read_batches, whole_lists
from scorer.matching.ranked_lists import RankedLists
from scorer.matching.solution import Source, report_repeated
from scorer.paths import is_regular, regular_size, shown
from scorer.scoring.submission import Parted

Runs = Iterable[Source] | Mapping[str, Source]
"""Runs in their order, or by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The ranked lists of one system."""

    source: Source
    name: str
    """For messages: the path, or what the caller calls it."""
    format_name: str | None = None
    """The format of a file; None: it is detected."""
    _in_memory: list[Ranked] = field(default_factory=list)
    """The rows of a source in memory, once they are read: an iterator can be read once only."""

    @classmethod
    def of(cls, source: Source, name: str = "the run", format_name: str | None = None) -> Run:
        """The run in a file, a table, a dict or rows: anything that `evaluate` takes as a submission."""
        return cls(source, shown(source) if isinstance(source, str | os.PathLike) else name, format_name)

    @property
    def is_file(self) -> bool:
        """Whether the run is read from a file, a URL or standard input."""
        return isinstance(self.source, str | os.PathLike)

    @property
    def can_be_read_again(self) -> bool:
        """Whether the run can be read twice, as a pipe cannot."""
        return not isinstance(self.source, str | os.PathLike) or is_regular(self.source)

    @property
    def file_size(self) -> int:
        """The size of the file in bytes; 0 for anything else than a regular file."""
        return regular_size(self.source) or 0 if isinstance(self.source, str | os.PathLike) else 0

    def lists(self, pool: Executor | None = None) -> Iterator[RankedLists]:
        """The lists in parts, in the order of the file. A query whose rows are not adjacent is in several parts.

        Raises SubmissionError where the run cannot be read or is invalid. All its errors are reported together.
        """
        return self._lists(pool, whole_lists)

    def partitions(self, number: int, pool: Executor | None = None) -> Iterator[RankedLists]:
        """The lists in this number of partitions at most: all rows of a query are in one of them.

        Memory holds one partition; the others are in temporary files. Raises SubmissionError as `lists`, also where
        the temporary files cannot be written.
        """
        return self._lists(pool, partial(by_query, partitions=number))

    def _lists(self, pool: Executor | None, parted: Parted) -> Iterator[RankedLists]:
        problems = Findings()
        rows = 0
        try:
            for lists, of_part in self._read(pool, parted, problems):
                problems.extend(of_part)
                rows += len(lists.queries)
                # After the first problem the rest is read for further problems only.
                if not problems:
                    yield lists
        except UnreadableError as error:
            problems.add(error.line, str(error))
        except TemporarySpaceError:
            problems.add(0, "its rows take more temporary disk space than is allowed; sort them by query")
        except OSError as error:
            problems.add(0, f"the system failed while it was read: {error.strerror or error}")
        if not rows and not problems:
            problems.add(0, "the run has no lists")
        if problems:
            raise SubmissionError(self.name, problems)

    def _read(
        self, pool: Executor | None, parted: Parted, problems: Findings
    ) -> Iterator[tuple[RankedLists, Findings]]:
        """Parts of whole lists, each with its problems; those of single rows are added to `problems`."""
        if not isinstance(self.source, str | os.PathLike):
            if not self._in_memory:
                self._in_memory.append(memory.ranked(self.source, problems))
            yield from map(_checked, parted(self._in_memory))
            return
        with opened(self.source, self.format_name, "submission_format") as (detected, head, blocks):
            batches = read_batches(detected.ranked(head), blocks, problems, pool)
            checked = partial(_checked, query_once=detected.format.QUERY_ONCE)
            yield from ordered(pool, checked, parted(batches), AHEAD)


def runs_of(runs: Runs, submission_format: str | None, error: type[ScorerError] = FusionError) -> list[Run]:
    """The runs with their names for messages. Raises `error` for a single path."""
    if isinstance(runs, Mapping):
        return [Run.of(source, name, submission_format) for name, source in runs.items()]
    if isinstance(runs, str | os.PathLike):
        raise error("found one path; expected a list of runs, or a dict of runs by name")
    return [Run.of(source, f"run {number}", submission_format) for number, source in enumerate(runs, 1)]


def _checked(batches: Sequence[Ranked], *, query_once: bool = False) -> tuple[RankedLists, Findings]:
    """Whole lists, and what is wrong with them."""
    lists, problems = RankedLists.of(batches), Findings()
    if query_once:
        report_repeated(lists.query_of_row, lists.queries, lists.line, problems)
    lists.report_repeated_ranks(problems)
    return lists, problems
