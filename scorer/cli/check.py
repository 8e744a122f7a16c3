"""``scorer check``: validation of a submission by its participant, with the code that scores it later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import (
    FORMAT_HELP,
    Parser,
    WrongCallError,
    add_challenge,
    add_tag,
    format_name,
    only_track,
    open_challenge,
)
from scorer.cli.console import print_message, print_result
from scorer.paths import shown
from scorer.wording import counted, printable, printable_name

if TYPE_CHECKING:
    from scorer.challenge.settings import Challenge, Track
    from scorer.matching.solution import Solution


def add_file(parser: Parser) -> None:
    """Add the arguments of ``check``."""
    parser.add_argument("file", help="the submission: a path or a URL")
    parser.add_argument(
        "-t", "--track", metavar="NAME", help="the track that the file is for; needed if there are several"
    )
    add_challenge(parser, sites=True)
    parser.add_argument("--team", metavar="TEAM", help="also print what is left of the quota of this team's folder")
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the format of the file, {FORMAT_HELP}")
    add_tag(parser, "submission_format")


def check(
    file: str, track: str | None, challenge: Path | str, submission_format: str | None, team: str | None = None
) -> int:
    """Check a submission before you submit it: format, queries, items, lengths, duplicates.

    The check needs no solution, and shows nothing that only the solution knows. It reports unknown queries and items if
    the challenge has public lists of them. The address of the published site is enough: it has the public settings and
    lists.

    With --team, the command also says what is left of the team's quota and when it begins again, if the folder of the
    challenge has the database.
    """
    if isinstance(challenge, str):
        from scorer.challenge.published import downloaded

        if team is not None:
            raise WrongCallError("--team needs the folder of the challenge; a site does not publish quotas")
        with downloaded(challenge, track) as folder:
            return check(file, track, folder, submission_format)
    settings, tracks = open_challenge(challenge, track)
    requested = only_track(tracks)
    code = _check(file, settings, requested, submission_format)
    if team is not None:
        print_result(_left(settings, requested, team))
    return code


def _left(settings: Challenge, requested: Track, team: str) -> str:
    """What is left of the quota of a team, by the database of the challenge."""
    from scorer.errors import ScorerError
    from scorer.live.entries import quota_line
    from scorer.store.store import Store

    try:
        with Store.open(settings.database_address, create=False) as store:
            return store.read(lambda view: quota_line(view, requested, team))
    except ScorerError as error:
        return f"{printable_name(team)}: nothing is known about its quota ({error})"


def _check(file: str, settings: Challenge, requested: Track, submission_format: str | None) -> int:
    from scorer.challenge.lists import public_lists
    from scorer.executors.base import checked
    from scorer.matching.exclusions import excluded
    from scorer.matching.solution import read_ids
    from scorer.paths import digest, is_regular
    from scorer.scoring.outcomes import Failed, Rejected
    from scorer.scoring.rules import Rules

    rules = Rules.of(requested)
    if submission_format is not None:
        rules = replace(rules, submission_format=format_name(submission_format, "--submission-format"))
    queries = _queries(requested)
    candidates = None if requested.items_path is None else read_ids(requested.items_path)
    exclude = excluded(public_lists(requested).get("exclude", requested.exclude))
    outcome = checked(queries, file, rules, settings.limits, candidates=candidates, excluded=exclude)
    path = printable(shown(file))
    if isinstance(outcome, Failed):
        print_message(f"{path}: {outcome.reason}")
        print_message(f"{path}: not checked")
        return 1
    if isinstance(outcome, Rejected):
        print_message("\n".join(outcome.problems.lines(shown(file))))
        print_message(f"{path}: invalid for track {requested.name}: {counted(outcome.problems.count, 'error')}")
        return 1
    print_message(*outcome.notes.lines(shown(file)))
    if queries is None:
        print_message(f"{requested.name}: the queries of the track are not available, so they were not compared")
    counts = outcome.counts
    lists, items = counted(counts.answered, "list"), counted(counts.items, "item")
    print_result(f"{path}: valid for track {requested.name}: {lists}, {items}")
    if is_regular(file):
        print_result(f"sha256 {digest(file)}")
    return 0


def _queries(track: Track) -> Solution | None:
    """The queries of the track, from its public list or else from its solution.

    None if neither file is available.
    """
    from scorer.errors import SolutionError
    from scorer.matching.solution import Solution

    if track.queries_path is not None:
        return Solution.read_queries(track.queries_path)
    try:
        solution = Solution.read(track.solution_path, track.solution_format)
    except SolutionError:
        return None
    return Solution.of_queries(solution.queries.to_pylist())
