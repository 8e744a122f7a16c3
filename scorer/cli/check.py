"""``scorer check``: a participant's look at a file before it is sent in, with the organiser's own code."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import FORMAT_HELP, chosen, format_name
from scorer.cli.console import complain, say
from scorer.paths import shown
from scorer.wording import counted, printable

if TYPE_CHECKING:
    from scorer.challenge.settings import Track
    from scorer.matching.solution import Solution


def add_file(parser: ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("file", help="the submission: a path or a URL")
    parser.add_argument("-t", "--track", required=True, metavar="NAME", help="the track that it is for")
    parser.add_argument(
        "--challenge",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="the folder with challenge.toml; default: this folder",
    )
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the file's format, {FORMAT_HELP}")


def check(file: str, track: str, challenge: Path, submission_format: str | None) -> int:
    """Check a submission before sending it in: format, queries, lengths, duplicates.

    No solution is needed, and nothing that only the solution knows is shown.
    """
    from scorer.challenge.loading import read_challenge
    from scorer.paths import digest, is_regular
    from scorer.scoring.outcomes import Rejected
    from scorer.scoring.rules import Rules
    from scorer.scoring.submission import check as look_over

    asked = chosen(read_challenge(challenge, solutions=False), track)
    rules = Rules.of(asked)
    if submission_format is not None:
        rules = replace(rules, submission_format=format_name(submission_format, "--submission-format"))
    queries = _queries(asked)
    outcome = look_over(queries, file, rules)
    told = printable(shown(file))
    if isinstance(outcome, Rejected):
        complain("\n".join(outcome.problems.lines(shown(file))))
        complain(f"{told}: not fit for {asked.name}: {counted(outcome.problems.count, 'problem')}")
        return 1
    for line in outcome.notes.lines(shown(file)):
        complain(line)
    if queries is None:
        complain(f"{asked.name}: its queries are not known here, so they were not compared with the file's")
    counts = outcome.counts
    say(f"{told}: fit for {asked.name}: {counted(counts.answered, 'list')}, {counted(counts.items, 'item')}")
    if is_regular(file):
        say(f"sha256 {digest(file)}")
    return 0


def _queries(track: Track) -> Solution | None:
    """The queries that the track asks for: from its public list, else from its solution, if either is here."""
    from scorer.errors import SolutionError
    from scorer.matching.solution import Solution

    if track.queries_path is not None:
        return Solution.read_queries(track.queries_path)
    try:
        return Solution.of_queries(Solution.read(track.solution_path, track.solution_format).queries.to_pylist())
    except SolutionError:
        return None
