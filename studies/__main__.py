"""`python -m studies`: draw the figures of the papers and of simulations, and check their claims."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from studies import (
    choosing,
    copies,
    coverage,
    judges,
    ladder_attack,
    ladder_cost,
    moniz_news,
    moniz_permutations,
    scheel_ohsumed,
    scheel_swaps,
    skewed,
    tracks,
)
from studies.study import AbsentError, Study

STUDIES: dict[str, Callable[[], Study]] = {
    "scheel-figure-4": scheel_swaps.figure_4,
    "scheel-figure-5": scheel_swaps.figure_5,
    "scheel-figure-6": scheel_ohsumed.figure_6,
    "scheel-figure-7": scheel_ohsumed.figure_7,
    "scheel-figure-8": scheel_ohsumed.figure_8,
    "moniz-figure-2": moniz_permutations.figure_2,
    "moniz-table-1": moniz_news.table_1,
    "coverage-intervals": coverage.intervals,
    "coverage-ranks": coverage.rank_ranges_and_tiers,
    "coverage-alarms": coverage.false_alarms,
    "coverage-overall": tracks.overall,
    "coverage-skewed": skewed.means,
    "coverage-losses": skewed.losses,
    "coverage-judges": judges.judges,
    "choosing": choosing.choosing,
    "copies": copies.copies,
    "ladder-votes": ladder_attack.by_votes,
    "ladder-changes": ladder_attack.by_changes,
    "ladder-cost": ladder_cost.fair_teams,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Write each study's figure and numbers into a folder, and print its verdicts; of those of coverage all cells."""
    options = _parser().parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.studies or STUDIES:
        try:
            study = STUDIES[name]()
        except AbsentError as error:
            print(f"{name}: skipped: {error}\n")
            continue
        figure = options.output / f"{name}.svg"
        figure.write_text(study.figure, encoding="utf-8")
        figure.with_suffix(".csv").write_text(study.table(), encoding="utf-8")
        grid = f"{study.grid()}\n" if name.startswith("coverage") else ""
        print(f"{study.report()}\n{grid}  {figure}\n", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument(
        "studies",
        nargs="*",
        choices=[[], *STUDIES],
        metavar="STUDY",
        help=f"one or more of {', '.join(STUDIES)}; default: all",
    )
    default = Path(__file__).with_name("figures")
    parser.add_argument("--output", type=Path, default=default, help="the folder for the figures and their numbers")
    return parser


if __name__ == "__main__":
    main()
