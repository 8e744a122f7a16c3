"""The outcome of scoring a submission: Scored, Rejected or Failed; the rules and the means that decide it, and its
compact form.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.errors import ContentError, Findings, system_failure
from scorer.limits import Limits
from scorer.lists import EQUAL_SCORES, READ_AS, Counts
from scorer.measures import Aggregation, Measure
from scorer.measures.gain import SUM_ROUNDING
from scorer.measures.matched import Bools, Floats, Ints, JudgedItems, Matched, Subtopics, Tied, once, ranges
from scorer.measures.names import in_version_1_0
from scorer.options import SELF, Missing, NothingRelevant, Split, Ties, Unjudged
from scorer.wording import QUOTED, printable, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.scoring.statistics.judges import TwoJudges
    from scorer.settings.tracks import Track


MATCHING_GENERATION = 1
"""Increase when the same file, solution and matching rules give another match; stored results are then made again."""

MEASURE_GENERATION = 3
"""Increase when a measure gives another score for the same match; stored means are then computed again."""

RENAMED_GENERATION = 3
"""The first generation in which names mean what they mean now; tracks with an earlier result keep `EarlierNames`."""

_OF_FILES = ("list_length", "missing", "ties", "solution_format", "submission_format")
"""The rules that digests begin with, in this order."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All settings that decide the scores of a submission."""

    measures: tuple[Measure, ...]
    list_length: int | None = None
    """How many items of each list count; None: all."""
    missing: Missing = "zero"
    ties: Ties = "trec"
    solution_format: str | None = None
    submission_format: str | None = None
    """The names of formats; None: detected from the file."""
    nothing_relevant: NothingRelevant = "skip"
    unjudged: Unjudged = "nonrelevant"
    tie_bounds: bool = False
    """Whether to compute the scores with ties in their worst and in their best order, too."""
    notes_ties: bool = False
    """Whether to compute them also where many run scores are equal, which is noted if they differ."""
    candidates: str | None = None
    """SHA-256 of the public list of candidate items; None without such a list."""
    exclude: str | None = None
    """"self", or the SHA-256 of the public list of excluded items; None without exclusions."""
    checked: str | None = None
    """The SHA-256 of the second solution, by people; None without one."""
    machine_weight: float = 1.0
    """Of the scores by the solution, where there is a second one."""

    def __post_init__(self) -> None:
        """Raise MeasureError for a measure that the rule for ties does not support."""
        if self.ties == "expected":
            for measure in self.measures:
                measure.need_closed_form(cut=self.list_length is not None)

    @classmethod
    def of(
        cls, track: Track, candidates: str | None = None, excluded: str | None = None, checked: str | None = None
    ) -> Rules:
        """The rules that the settings of a track make, with the SHA-256 of its lists of items and second solution."""
        return cls(
            measures=track.all_measures,
            list_length=track.list_length,
            missing=track.missing,
            ties=track.ties,
            unjudged=track.unjudged,
            solution_format=track.solution_format,
            submission_format=track.submission_format,
            candidates=candidates,
            exclude=SELF if track.exclude == SELF else excluded,
            checked=checked,
            machine_weight=float(track.machine_weight),
        )

    @property
    def scores_nothing(self) -> bool:
        """Whether a submission without a list scores 0, as in other tools, and is not rejected."""
        return (self.missing, self.nothing_relevant) == ("zero", "zero")

    @property
    def matching_digest(self) -> str:
        """SHA-256 in hexadecimal: equal for rules that match alike. Measures are computed from the stored match."""
        kept = [*_OF_FILES, "unjudged", "candidates"]
        kept += ["exclude"] if self.exclude is not None else []
        kept += ["checked", "machine_weight"] if self.checked is not None else []
        return _digest({"generation": MATCHING_GENERATION, **{name: getattr(self, name) for name in kept}})

    @property
    def version_1_digest(self) -> str:
        """The digest that databases of schema 1 store for these rules, measures included; empty if they have none."""
        if (self.candidates, self.exclude, self.checked) != (None, None, None):
            return ""
        kept = (*_OF_FILES, "nothing_relevant", "unjudged")
        names = [in_version_1_0(measure.full) for measure in self.measures]
        return _digest([1, names, *(getattr(self, name) for name in kept)])


def _digest(settings: object) -> str:
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()


GEOMETRIC_FLOOR = 1e-5
"""The lowest value that a score has in a geometric mean, as in trec_eval."""


class Mean(NamedTuple):
    """The mean of a measure over some queries."""

    value: float | None
    """None where the measure is undefined for all of the queries."""
    undefined: int
    """How many of the queries the mean leaves out, because the measure is undefined for them."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryMask:
    """The queries that a mean is taken over."""

    inside: Bools
    """[query]: whether the mean is taken over it."""
    flagged: Bools | None = None
    """[query]: the flags that the scores depend on, as those by two judges do; None: they depend on none."""

    @cached_property
    def digest(self) -> str:
        """128 bits of the SHA-256 of the mask, in hexadecimal: equal for equal masks."""
        packed = b"".join(np.packbits(each).tobytes() for each in (self.inside, self.flagged) if each is not None)
        return hashlib.sha256(f"{self.inside.size}:".encode() + packed).hexdigest()[:32]


def split_masks(flagged: Bools, *, two_judges: bool = False) -> dict[Split, QueryMask]:
    """The masks of all splits of a solution, given the flags of its queries, and whether two have judged them."""
    return {
        "all": QueryMask(np.ones(flagged.size, dtype=bool), flagged if two_judges else None),
        "preliminary": QueryMask(flagged),
        "rest": QueryMask(~flagged),
    }


def aggregated(scores: Floats, way: Aggregation) -> float:
    """The mean (or the sum, or the geometric mean) of the defined scores, [query]; NaN if no score is defined.

    Scores are added one by one in the order of the solution, as VL.NET's own evaluator does, so that the results are
    equal to the last bit.
    """
    defined = scores[~np.isnan(scores)]
    if not defined.size:
        return float("nan")
    if way == "geometric":
        defined = np.log(np.maximum(defined, GEOMETRIC_FLOOR))
    total = float(np.cumsum(defined)[-1])
    if way == "sum":
        return total
    return math.exp(total / defined.size) if way == "geometric" else total / defined.size


def aggregated_rows(measures: Sequence[Measure], scores: Floats) -> Floats:
    """[measure]: the scores, [measure, query], of each aggregated in its way, as `aggregated` does."""
    if scores.size and all(measure.kind.aggregation == "mean" for measure in measures):
        means: Floats = np.add.accumulate(scores, 1)[:, -1] / scores.shape[1]
        if not math.isnan(sum(means.tolist())):
            return means
    rows = zip(measures, scores, strict=True)
    return np.array([aggregated(row, measure.kind.aggregation) for measure, row in rows], dtype=np.float64)


def all_means(
    measures: Sequence[Measure], scores: Floats, masks: Mapping[Split, QueryMask]
) -> dict[tuple[str, str], Mean]:
    """The means of scores [measure, query] over all splits, by full name of the measure and digest of the mask."""
    means = {}
    for measure, row in zip(measures, scores, strict=True):
        for mask in masks.values():
            inside = row[mask.inside]
            value = aggregated(inside, measure.kind.aggregation)
            undefined = int(np.count_nonzero(np.isnan(inside)))
            means[measure.full, mask.digest] = Mean(None if math.isnan(value) else value, undefined)
    return means


def check_gains(solution: Solution, measures: Sequence[Measure], where: str = "the solution") -> None:
    """Raise ContentError for a solution whose grades are too high for a measure, or that only fits other measures.

    Grades are too high where the score of a list, or the sum of the scores of all queries, can exceed the largest
    floating-point number; each measure and each query is reported. Then a team that finds such an item would have
    another set of queries in its mean than a team that does not. An accepted solution has finite scores and means for
    every submission. A solution fits other measures where an item has several iterations, and no measure uses
    subtopics.
    """
    findings = Findings()
    if not any(measure.kind.subtopics for measure in measures):
        findings.extend(solution.iterations.repeated)
    queries = solution.flagged.size
    nothing = solution.ideal.where(np.zeros(0, dtype=np.int64))
    matched = Matched(nothing, solution.ideal, np.zeros(queries, dtype=np.int64))
    for measure in measures:
        highest = measure.highest(matched)
        if highest is None or not queries:
            continue
        for query in np.flatnonzero(~np.isfinite(highest)):
            findings.add(0, _too_large(solution, f"{measure}: its score", int(query)))
        with np.errstate(over="ignore"):
            overflows = not np.isfinite(highest.sum() * (1 + SUM_ROUNDING))
        if overflows and np.isfinite(highest).all():
            findings.add(0, _too_large(solution, f"{measure}: the sum of its scores", int(highest.argmax())))
    if findings:
        raise ContentError(where, findings)


def check_corrected(
    solution: Solution, checked: Solution, measures: Sequence[Measure], flagged: Bools, where: str
) -> None:
    """Raise ContentError where a measure has no score by the second solution in a stage, and one by the solution.

    Then no submission would have a corrected mean.
    """
    findings, both = Findings(), np.zeros_like(flagged)
    empty = [
        Matched(of.ideal.where(np.zeros(0, dtype=np.int64)), of.ideal, np.zeros(of.flagged.size, dtype=np.int64))
        for of in (solution, checked)
    ]
    for measure in measures:
        machine, people = (~np.isnan(measure(matched)) for matched in empty)
        both[solution.checked_queries] = people
        for stage, name in ((flagged, "the preliminary queries"), (~flagged, "the other queries")):
            if (machine & stage).any() and not (machine & both & stage).any():
                findings.add(0, f"has none of {name} with a defined {measure} by both solutions; judge more of these")
    if findings:
        raise ContentError(where, findings)


def _too_large(solution: Solution, what: str, query: int) -> str:
    from scorer.lists.formats import shortest  # noqa: PLC0415 (Arrow is slow to load)

    best = int(solution.first_entry[query])
    item, grade = solution.ids.names(np.array([best]))[0], float(solution.ideal.grade[best])
    return (
        f"{what} can exceed the largest floating-point number (1.8e308), because item {quoted(item)} of query "
        f"{quoted(solution.queries[query].as_py())} has the grade {shortest(grade)}; "
        "choose another gain or measure, or give smaller grades"
    )


_LEVEL = 2
"""Of the compression: the bytes are 5 % more than at zlib's usual level 6, in a fourth of the time."""

LONGEST_LIST = 10_000_000
"""The items that a list can have. Measures make arrays of this length."""

_HEAD, _COLUMN = struct.Struct("<I"), struct.Struct("<3sI")
_CODES = {b"|u1": "u", b"<u2": "u", b"<u4": "u", b"<f8": "f"}
"""The types of columns, and their kinds: whole numbers from 0, and floats."""
_Numbers = NDArray[Any]


class DamagedError(Exception):
    """Packed bytes that cannot be unpacked."""


def pack_ids(query_ids: Iterable[str]) -> bytes:
    """Query ids in few bytes, for `unpack_ids`."""
    return zlib.compress(json.dumps(list(query_ids), separators=(",", ":")).encode("ascii"))


def unpack_ids(packed: bytes) -> tuple[str, ...]:
    """The ids that `pack_ids` packed."""
    return tuple(json.loads(zlib.decompress(packed)))


def check_expansion(packed: bytes, most: int) -> None:
    """Raise ValueError if packed bytes grow to more than so many bytes, or are incomplete."""
    stream = zlib.decompressobj()
    try:
        stream.decompress(packed, most)
    except zlib.error as error:
        raise ValueError("not compressed") from error
    if not stream.eof:
        raise ValueError("grows to more bytes, or is incomplete")


def check_ids(packed: bytes, flagged: bytes) -> None:
    """Raise ValueError unless packed ids are texts with a flag for each, before they become objects."""
    text = zlib.decompress(packed)
    if (text[:2], text[-2:]) != (b'["', b'"]') or text.count(b'","') // 8 + 1 != len(flagged):
        raise ValueError("other queries than flags")
    for query_id in text[2:-2].split(b'","'):
        json.loads(b'"%b"' % query_id)


def pack_flags(flagged: Bools) -> bytes:
    """The flags of queries in few bytes, for `unpack_flags`."""
    return np.packbits(flagged).tobytes()


def unpack_flags(packed: bytes, count: int) -> Bools:
    """The flags of `count` queries that `pack_flags` packed. Raises ValueError for those of another number."""
    if len(packed) != (count + 7) // 8:
        raise ValueError(f"{len(packed)} bytes for {count} queries")
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).astype(bool)


def pack_ideal(ideal: JudgedItems, queries: int) -> bytes:
    """The graded items of a solution in few bytes, for `unpack_ideal`."""
    held, columns = ideal.subtopics, [np.bincount(ideal.query, minlength=queries), ideal.grade, ideal.tie_rank]
    if held is not None:
        columns += [np.diff(held.first), held.subtopic, held.grade, held.id_rank]
    return _packed(queries, columns)


def unpack_ideal(packed: bytes) -> JudgedItems:
    """The graded items that `pack_ideal` packed. Raises DamagedError."""
    queries, (counts, grade, tie_rank, *held) = _unpacked(packed, ("ufu", "ufuuufu"))
    _check_counted(counts, queries, grade, tie_rank)
    rank, query = ranges(np.ones_like(counts), counts + 1)
    if not held:
        return JudgedItems(query, rank, grade, tie_rank)
    lengths, subtopic, grades, id_rank = held
    _check_counted(lengths, query.size, subtopic, grades)
    if id_rank.size != query.size or subtopic.max(initial=-1) >= subtopic.size:
        raise DamagedError("subtopics of other items")
    subtopics = Subtopics(np.append(0, np.cumsum(lengths)), subtopic, grades, id_rank)
    return JudgedItems(query, rank, grade, tie_rank, entry=np.arange(query.size), subtopics=subtopics)


def pack_hits(matched: Matched) -> bytes:
    """The judged items of a submission in few bytes, for `unpack_hits`."""
    again = () if matched.checked is None else _hit_columns(matched.checked)
    return _packed(matched.queries, [*_hit_columns(matched), *again])


def _hit_columns(matched: Matched) -> list[Ints]:
    found, counts = matched.found, np.bincount(matched.found.query, minlength=matched.queries)
    groups = [] if found.tied is None else [found.tied.before, found.tied.size]
    return [counts, matched.retrieved, found.rank, _positions(matched), *groups]


def unpack_hits(packed: bytes, ideal: JudgedItems, checked: JudgedItems | None = None) -> Matched:
    """The match that `pack_hits` packed, given the graded items of the solution, and those of the second one if there
    is one. Raises DamagedError.
    """
    if checked is None:
        return _unpacked_match(*_unpacked(packed, ("uuuu", "uuuuuu")), ideal)
    queries, columns = _unpacked(packed, ("u" * 8, "u" * 12))
    own, again = columns[: len(columns) // 2], columns[len(columns) // 2 :]
    matched, of_checked = _unpacked_match(queries, own, ideal), _unpacked_match(again[0].size, again, checked)
    return replace(matched, checked=of_checked)


def _unpacked_match(queries: int, columns: Sequence[Ints], ideal: JudgedItems) -> Matched:
    counts, retrieved, rank, position, *groups = columns
    _check_counted(counts, queries, rank, position, *groups)
    if retrieved.size != queries:
        raise DamagedError("lengths of other lists")
    query = np.repeat(np.arange(queries), counts)
    if ("first", queries) not in ideal.cache:
        ideal.cache["first", queries] = np.searchsorted(ideal.query, np.arange(queries))
    entry = ideal.cache["first", queries][query] + position
    if entry.size and (entry.max() >= len(ideal) or (ideal.query[entry] != query).any()):
        raise DamagedError("a position beyond the graded items")
    return Matched(JudgedItems.listed(ideal, entry, rank, Tied(*groups) if groups else None), ideal, retrieved)


def check_values(matched: Matched, queries: int) -> None:
    """Raise DamagedError for a match that lists for so many queries cannot have: measures rely on its values."""
    found, ideal = matched.found, matched.ideal
    same_query = np.diff(found.query) == 0
    is_possible = (
        matched.queries == queries
        and ideal.query.max(initial=-1) < queries
        and bool(np.isfinite(ideal.grade).all() and (np.diff(found.rank)[same_query] >= 0).all())
        and found.rank.min(initial=1) >= 1
        and max(matched.retrieved.max(initial=0), found.rank.max(initial=0)) <= LONGEST_LIST
    )
    if found.tied is not None:
        ends = found.tied.before + found.tied.size
        is_possible &= found.tied.size.min(initial=1) >= 1 and ends.max(initial=0) <= LONGEST_LIST
    if not is_possible:
        raise DamagedError("values that no lists have")


def _check_counted(counts: Ints, owners: int, *columns: _Numbers) -> None:
    """Raise DamagedError unless each owner has a count, and each column as many values as they add up to."""
    sizes = {column.size for column in columns}
    if counts.size != owners or counts.max(initial=0) > min(sizes) or sizes != {int(counts.sum())}:
        raise DamagedError("counts of other columns")


def _positions(matched: Matched) -> Ints:
    """[judged item]: the position, from 0, of the first graded item of its query with the same grade.

    Items with equal grades are the same to every measure, unless they have subtopics: then it is its own position.
    """
    found, ideal = matched.found, matched.ideal
    if found.entry is not None:
        return ideal.rank[found.entry] - 1
    grades, keys, position = _positions_of_grades(matched)
    key = found.query * grades.size + (grades.size - 1 - np.searchsorted(grades, found.grade))
    return position[np.searchsorted(keys, key)]


@once
def _positions_of_grades(matched: Matched) -> tuple[Floats, Ints, Ints]:
    """All grades, ascending; a key for each grade of each query, ascending; the first position of each key."""
    ideal = matched.ideal
    grades, code = np.unique(ideal.grade, return_inverse=True)
    # Grades descend within a query, so keys count down from the highest grade: they ascend with the positions.
    keys, first = np.unique(ideal.query * grades.size + (grades.size - 1 - code), return_index=True)
    return grades, keys, ideal.rank[first] - 1


def _packed(size: int, columns: Sequence[_Numbers]) -> bytes:
    """The columns in the smallest type that holds each, bytes of equal significance together, compressed."""
    body = b""
    for column in columns:
        small = column if column.dtype == np.float64 else column.astype(np.min_scalar_type(int(column.max(initial=0))))
        code = small.dtype.str.encode()
        body += _COLUMN.pack(code, small.size) + small.view(np.uint8).reshape(small.size, small.itemsize).T.tobytes()
    return _HEAD.pack(size) + zlib.compress(body, _LEVEL)


def _unpacked(packed: bytes, kinds: Collection[str]) -> tuple[int, list[_Numbers]]:
    """The number before the columns, and the columns, whose kinds must be one of `kinds`."""
    try:
        (size,) = _HEAD.unpack_from(packed)
        body = zlib.decompress(packed[_HEAD.size :])
        start, found = 0, ""
        columns: list[_Numbers] = []
        while start < len(body) and len(columns) < max(map(len, kinds)):
            code, length = _COLUMN.unpack_from(body, start)
            found += _CODES[code]
            kind, start = np.dtype(code.decode()), start + _COLUMN.size
            planes = np.frombuffer(body, np.uint8, length * kind.itemsize, start).reshape(kind.itemsize, length)
            column = np.ascontiguousarray(planes.T).reshape(-1).view(kind)
            columns.append(column if kind.kind == "f" else column.astype(np.int64))
            start += planes.size
    except (ValueError, TypeError, KeyError, struct.error, zlib.error) as error:
        raise DamagedError(str(error)) from error
    if found not in kinds or start < len(body):
        raise DamagedError("other columns")
    return size, columns


@dataclass(slots=True, eq=False, repr=False)
class Scored:
    """The scores of a submission."""

    measures: tuple[Measure, ...]
    """One for each row of `scores`."""
    scores: Floats
    """[measure, query], full precision, NaN where undefined; queries in the order of the solution."""
    flagged: Bools
    """[query]: whether the query counts for the preliminary board."""
    matched: Matched
    """What the scores are computed from."""
    counts: Counts
    notes: Findings
    """Findings that do not reject the file: repeated items, unknown queries, ..."""
    extremes: tuple[Floats, Floats] | None = None
    """As `scores`, with each group of equal run scores in its worst and in its best order; None if not computed."""
    judges: TwoJudges | None = None
    """The scores by each of two judges, from which `scores` follow; None with one."""

    def inside(self, split: Split) -> Bools:
        return split_masks(self.flagged)[split].inside

    def means(self, split: Split = "all") -> Floats:
        """[measure]: the mean over the queries of the split; NaN where the measure is undefined for all of them.

        For measures that are summed or averaged geometrically, their sum or geometric mean.
        """
        return self._aggregated(self.scores, split)

    def bounds(self, split: Split = "all") -> tuple[Floats, Floats] | None:
        """As `means`, with ties in their worst and in their best order; None if not computed."""
        if self.extremes is None:
            return None
        worst, best = self.extremes
        return self._aggregated(worst, split), self._aggregated(best, split)

    def _aggregated(self, scores: Floats, split: Split) -> Floats:
        return aggregated_rows(self.measures, scores if split == "all" else scores[:, self.inside(split)])

    def summary(self) -> Summary:
        """The part of it that is stored."""
        return Summary(
            means=all_means(self.measures, self.scores, split_masks(self.flagged, two_judges=self.judges is not None)),
            hits=pack_hits(self.matched),
            counts=self.counts,
            notes=self.notes.without(READ_AS, "items-differ", EQUAL_SCORES),
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Summary:
    """A Scored in a few kilobytes. With the solution, the scores of every query follow from it."""

    means: Mapping[tuple[str, str], Mean]
    """By the full name of the measure and the digest of the query mask."""
    hits: bytes
    """As `pack_hits` returns them."""
    counts: Counts
    notes: Findings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rejected:
    """A submission whose bytes are invalid: every machine finds the same errors. The outcome is final."""

    problems: Findings
    limits: Mapping[str, int] = field(default_factory=dict)
    """The limits that the file exceeds, by name, and their values. With another value, it is tried again."""


NEEDS_MEMORY = "it needs more memory than is available"
CHANGED = "it changed while it was read, or could not be read completely"
"""Why a submission failed whose bytes do not have the digest that they had before."""

FailureKind = Literal["time", "memory", "space", "lost", "machine"]
"""What a submission failed for: the limits `seconds`, `memory_mb` and `temporary_mb`; its process died; or anything
else about the machine, such as a full disk, too many open files, or a file that cannot be read."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A submission that was not scored for a reason outside of its bytes, as far as known. It is tried again."""

    reason: str
    kind: FailureKind = "machine"

    @property
    def is_counted(self) -> bool:
        """Whether it counts towards the attempts; the submission cannot be the cause of the other failures."""
        return self.kind != "machine"


Outcome = Scored | Rejected | Failed


def too_slow(limits: Limits) -> Failed:
    """The outcome of a file that took longer than the limit."""
    return Failed(f"it took longer than {limits.seconds:g} seconds", "time")


def unexpected(error: Exception) -> Failed:
    """The outcome of a file that reveals a bug, or a system that fails: neither keeps the others from being scored."""
    failure = system_failure(error)
    if isinstance(failure, MemoryError):
        return Failed(NEEDS_MEMORY, "memory")
    text = printable(str(failure or error))[:QUOTED]
    if isinstance(failure or error, OSError | ImportError):
        return Failed(f"the system failed while it was scored: {text}")
    return Failed(f"scorer failed on it ({type(error).__name__}: {text}); `scorer evaluate` shows where", "lost")
