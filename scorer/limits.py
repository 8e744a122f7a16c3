"""Limits: what a submission may take of the machine that scores it, and a bundle of the one that imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

MB = 1_000_000
"""Bytes in the unit of the limits."""

ATTEMPTS = 3
"""How many times a submission is tried that exceeds a limit of the machine or whose process dies."""


def _limit(default: int, about: str) -> int:
    value: int = field(default=default, metadata={"about": about})
    return value


OF_MACHINE = ("files_per_team", "seconds", "memory_mb", "temporary_mb")
"""Limits by which no file is rejected that was received."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on submissions. Each is a whole number from 1.

    A file that exceeds a limit on its content is rejected, because every machine finds the same. A file that exceeds
    `seconds`, `memory_mb` or `temporary_mb` is not: another machine may score it. It has failed, and is tried again.
    """

    file_mb: int = _limit(1_000, "the size of a file")
    expanded_mb: int = _limit(4_000, "the size of a compressed file after decompression")
    expansion: int = _limit(300, "how many times its own size a compressed file or a Parquet file may grow to")
    document_mb: int = _limit(250, "the size of a JSON document, a Parquet file or an archive, read as a whole")
    line_mb: int = _limit(16, "the length of a line")
    id_bytes: int = _limit(1_000, "the length of the id of a query or an item, in bytes of UTF-8")
    queries: int = _limit(5_000_000, "the number of lists in a file")
    items: int = _limit(100_000_000, "the number of items in all lists of a file")
    nesting: int = _limit(20, "how deep values of JSON may be nested")
    table_mb: int = _limit(500, "the memory that the columns of a Parquet file take as plain values")
    files_per_team: int = _limit(1_000, "the number of files of a team in a track")
    seconds: int = _limit(120, "the time that scoring a file may take")
    memory_mb: int = _limit(2_000, "the memory that scoring a file may take, on top of the solution")
    temporary_mb: int = _limit(8_000, "the temporary disk space that scoring a file may take")

    @classmethod
    def about(cls) -> dict[str, str]:
        """What each limit is on, by name."""
        return {limit.name: limit.metadata["about"] for limit in fields(cls)}

    @property
    def on_content(self) -> dict[str, int]:
        """The limits that decide whether a file is rejected, where they are not the default ones."""
        both = ((limit.name, getattr(self, limit.name), limit.default) for limit in fields(self))
        return {name: value for name, value, default in both if value != default and name not in OF_MACHINE}

    def differing(self, others: Mapping[str, int]) -> bool:
        """Whether any of the other values, by the names of limits, is not the value here."""
        mine = asdict(self)
        return any(mine.get(name) != value for name, value in others.items())


OWN_FILES = Limits(
    file_mb=10**12,
    expanded_mb=10**12,
    document_mb=10**12,
    id_bytes=10**12,
    queries=10**12,
    items=10**12,
    table_mb=10**12,
)
"""For files that the user trusts, as solutions and the runs of a researcher: only signs of damage are refused."""


def most_expanded(bundle: int) -> int:
    """The bytes that a compressed value of a bundle of so many bytes may grow to.

    Arrays of it take about ten times the memory. The grades of a solution take about as many bytes as the file of the
    solution: a bundle with the solutions is never below.
    """
    return max(32 * MB, 20 * bundle)


def most_copied(bundle: int) -> int:
    """The bytes that the files of submissions in a bundle of so many bytes may have, copies of a file included.

    A hundred teams may have submitted the same file.
    """
    return max(100 * MB, 100 * bundle)


SETTINGS_BYTES, DOTS = 200_000, 300
"""Of a stranger's challenge.toml, and of a line in it: the parser needs quadratic time for the parts of a key."""


def is_quickly_parsed(settings: str) -> bool:
    """Whether a stranger's challenge.toml is within the bounds that are checked before it is parsed."""
    return len(settings) <= SETTINGS_BYTES and max(line.count(".") for line in settings.split("\n")) <= DOTS
