"""Slices, the queries of each label, as a language or a level of difficulty; clusters, queries that belong together.

Both are from a file or a dict.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scorer.errors import Findings, SolutionError
from scorer.files import shown
from scorer.lists import CLUSTER, cluster_by
from scorer.lists.reading.blocks import UnreadableError, findings_about, open_bytes
from scorer.measures.matched import Bools
from scorer.wording import counted, one_line, quoted

HEAD, _CLUSTERS_HEAD = ("query", "label"), ("query", "cluster")
"""The names of the columns; a first line with them is no slice or cluster."""

MOST_LABELS, LONGEST_LABEL = 50, 60
"""The number of slices, and of the characters of a label."""

SliceSource = str | os.PathLike[str] | Mapping[str, Iterable[str]]
"""Slices: the path or URL of a file, or a dict label -> queries."""

ClusterSource = str | os.PathLike[str] | Mapping[str, str]
"""Clusters: the path or URL of a file, a pattern as in "{cluster}_*", or a dict query -> cluster."""


@dataclass(frozen=True, eq=False)
class Slice:
    """The queries of a label."""

    label: str
    inside: Bools
    """[query]: whether it is in the slice."""

    @cached_property
    def size(self) -> int:
        """The number of its queries."""
        return int(self.inside.sum())

    def within(self, inside: Bools) -> Slice:
        """The slice with those of its queries that are inside."""
        return Slice(self.label, self.inside & inside)


def read_slices(listed: SliceSource, queries: Sequence[str]) -> tuple[Slice, ...]:
    """The slices of a solution with these queries, in the order in which the labels occur first.

    Raises SolutionError, with all errors, if they cannot be read or are invalid.
    """
    place_of = {query: place for place, query in enumerate(queries)}
    slices: dict[str, Slice] = {}
    name = shown(listed) if isinstance(listed, str | os.PathLike) else "the slices"
    with findings_about(name, SolutionError) as findings:
        for line, query, label in _rows(listed, findings, HEAD):
            if label not in slices and (label != one_line(label) or not 0 < len(label) <= LONGEST_LABEL):
                expected = f"expected 1 to {LONGEST_LABEL} printable characters on one line"
                findings.add(line, f"found the label {quoted(label)}; {expected}")
                continue
            if label not in slices and len(slices) == MOST_LABELS:
                findings.add(line, f"the label {quoted(label)} is one more than {MOST_LABELS}, which are possible")
                continue
            of_label = slices.setdefault(label, Slice(label, np.zeros(len(queries), dtype=bool)))
            place = place_of.get(query)
            if place is None:
                findings.add(line, f"query {quoted(query)} is not in the solution; remove it or correct its id")
            elif of_label.inside[place]:
                findings.add(line, f"query {quoted(query)} is listed again as {quoted(label)}; list it once")
            else:
                of_label.inside[place] = True
        if not slices and not findings:
            findings.add(0, "lists no query; expected a line query,label for each query of a slice")
    return tuple(slices.values())


def read_clusters(listed: ClusterSource, queries: Sequence[str]) -> tuple[str, ...]:
    """The cluster of each of these queries; one that is not listed has its own id.

    Raises SolutionError, with all errors, if they cannot be read or are invalid, or no two queries have one cluster.
    """
    found: dict[str, str] = {}
    name = shown(listed) if isinstance(listed, str | os.PathLike) else "the clusters"
    with findings_about(name, SolutionError) as findings:
        if isinstance(listed, str) and CLUSTER in listed:
            found = {query: cluster_by(listed, query) for query in queries}
        elif isinstance(listed, Mapping):
            found = {str(query): str(cluster) for query, cluster in listed.items()}
        else:
            for line, query, cluster in _rows(listed, findings, _CLUSTERS_HEAD):
                if found.setdefault(query, cluster) != cluster:
                    findings.add(line, f"query {quoted(query)} is listed again with another cluster; list it once")
        clusters = tuple(found.get(query, query) for query in queries)
        if len(set(clusters)) == len(clusters) and not findings:
            findings.add(0, "no two queries have the same cluster; expected clusters of queries that belong together")
    return clusters


def _rows(listed: SliceSource, findings: Findings, head: tuple[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield line, query and label of each row. Tabs separate columns if the first line has one, otherwise commas."""
    if isinstance(listed, Mapping):
        yield from ((0, str(query), str(label)) for label, queries in listed.items() for query in queries)
        return
    with open_bytes(listed) as stream:
        try:
            text = stream.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UnreadableError("the file is not text in UTF-8; save it as UTF-8") from error
    lines = io.StringIO(text, newline="")
    if "\t" in text.partition("\n")[0]:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(lines, strict=True)
    try:
        for row in rows:
            if len(row) == len(head):
                if rows.line_num > 1 or tuple(row) != head:
                    yield rows.line_num, row[0], row[1].strip()
            elif row:
                findings.add(rows.line_num, f"found {counted(len(row), 'column')}; expected 2: {' and '.join(head)}")
    except csv.Error as error:
        raise UnreadableError(f"is not valid CSV ({error}); put ids with commas or quotes in double quotes") from error
