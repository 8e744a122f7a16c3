"""``python -m tests.fuzz --seconds 60``: check as many cases as fit into the time; exit code 1 with findings."""

from __future__ import annotations

import argparse
import itertools
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.workers import Checked, Setup, checked_all

SAVED = Path(__file__).resolve().parents[2] / ".fuzz"
"""Where the files of findings are saved; ignored by git."""

SHOWN = 3
"""The number of findings of one kind that are printed and saved."""


@dataclass(slots=True)
class Report:
    """The results so far; findings are printed and saved as they come."""

    seed: int
    saved: Path = SAVED
    cases: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)

    def add(self, result: Checked) -> None:
        """Add the result of a case."""
        self.cases += 1
        self.formats[result.label] += 1
        self.outcomes.update(f"{kind} {outcome}" for kind, outcome in result.outcomes.items())
        if not result.problem:
            return
        self.problems[result.problem] += 1
        if self.problems[result.problem] > SHOWN:
            return
        print(f"\ncase {result.number} ({result.label}): expected {result.problem}")
        print(f"  again: python -m tests.fuzz --seed {self.seed} --case {result.number}")
        if result.content is not None:
            folder = self.saved / f"{self.seed}-{result.number}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "file").write_bytes(result.content)
            (folder / "finding.txt").write_text(f"{result.problem}\n{result.details}\n", "utf-8", "backslashreplace")
            print(f"  saved: {folder}")
        for line in result.details.encode("ascii", "backslashreplace").decode()[:2000].splitlines()[-12:]:
            print(f"  {line}")

    def summary(self, seconds: float) -> Iterator[str]:
        yield f"seed {self.seed}: {self.cases:,} cases, {self.cases / max(seconds, 1e-9):.1f} cases a second"
        for what, counts in (("formats", self.formats), ("outcomes", self.outcomes), ("findings", self.problems)):
            yield f"{what}: " + (", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "none")


def fuzz(setup: Setup, numbers: Iterable[int], saved: Path = SAVED) -> Report:
    """Check the cases with these numbers."""
    report = Report(setup.seed, saved)
    with tempfile.TemporaryDirectory(prefix="scorer-fuzz-") as folder:
        for result in checked_all(setup, numbers, Path(folder)):
            report.add(result)
    return report


def until(end: float) -> Iterator[int]:
    """Yield numbers from 0 until the monotonic clock reaches the end."""
    return itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the readers of all formats.")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--seconds", type=float, default=60, help="how long to generate cases (default: 60)")
    amount.add_argument("--cases", type=int, help="how many cases to check instead")
    amount.add_argument("--case", type=int, help="the number of the only case to check")
    parser.add_argument("--seed", type=int, help="decides the cases (default: another one each time)")
    chosen = parser.parse_args()
    seed = secrets.randbelow(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    begin = time.monotonic()
    numbers: Iterable[int] = until(begin + chosen.seconds)
    if chosen.case is not None:
        numbers = [chosen.case]
    elif chosen.cases is not None:
        numbers = range(chosen.cases)
    report = fuzz(Setup(seed, processes=1) if chosen.case is not None else Setup(seed), numbers)
    print(*report.summary(time.monotonic() - begin), sep="\n")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
