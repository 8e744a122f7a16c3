"""What a person meant who typed something else: another command or option, or files in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import challenge_folder, is_challenge
from scorer.errors import FileError, Findings, MeasureError
from scorer.paths import is_regular, shown
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.matching.solution import Solution


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """Return the known words that are close to a typed one, as the end of a message; empty if none is."""
    from difflib import get_close_matches

    words = sorted(known)
    close = [word for word in words if len(typed.strip("-")) > 1 and word.startswith(typed)]
    close = close or get_close_matches(typed, words, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(close[:3])}?" if close else ""


OF_TREC_EVAL = ("-c", "-n", "-J", "-M", "-N")
"""Options of trec_eval that `scorer evaluate` does not have."""


def unknown_options(unknown: Sequence[str], known: Iterable[str], command: str) -> str:
    """Return the end of the message for arguments that a command does not have; empty without a hint."""
    if command == "scorer evaluate" and any(option.startswith(OF_TREC_EVAL) for option in unknown):
        return "; `scorer trec_eval` takes the options of trec_eval"
    return did_you_mean(next((word.partition("=")[0] for word in unknown if word.startswith("--")), ""), known)


def unknown_command(typed: str, commands: Iterable[str]) -> str:
    """Return the message for a first argument that is not a command."""
    hint = did_you_mean(typed.casefold(), commands)
    if not hint and is_regular(typed):
        hint = f"; to score files, write: scorer evaluate {printable(typed)} SUBMISSION..."
    return f"no command is called {quoted(typed)}{hint}"


def challenge_hint(path: str) -> str:
    """Return what to do with a challenge where a file was expected; empty for anything else."""
    if not is_challenge(path):
        return ""
    folder = challenge_folder(path)
    what = "the settings of a challenge" if Path(path) != folder else "a folder; a file was expected. It is a challenge"
    return f"{printable(shown(path))}: {what}: `scorer run {printable(str(folder))}` scores its submissions"


def solution_message(error: FileError, solution: str, submissions: Sequence[str]) -> str:
    """Return the message for a solution that cannot be read: a hint where it looks like something else."""
    from scorer.formats.detection import roles

    if hint := challenge_hint(solution):
        return hint
    if roles(solution) != {"submission"}:
        return str(error)
    other = next((path for path in submissions if path != solution and "solution" in roles(path)), None)
    if other is None:
        first = printable(shown(solution))
        return f"{error}\n{first}: looks like a submission; the solution, with a grade for each item, comes first"
    return _swapped(solution, other)


def submission_message(error: FileError, submission: str, solution: str) -> str:
    """Return the message for a submission that cannot be read: a hint where it looks like something else."""
    from scorer.formats.detection import roles

    if hint := challenge_hint(submission):
        return hint
    if roles(submission) != {"solution"}:
        return str(error)
    path = printable(shown(submission))
    if is_regular(solution) and Path(submission).resolve() == Path(solution).resolve():
        return f"{path}: the solution is given twice; after it, list the submissions only"
    if "submission" in roles(solution):
        return _swapped(solution, submission)
    return f"{path}: looks like a solution, not like a submission; the solution is given once, before the submissions"


def stray_measures(requested: Sequence[str], files: Iterable[str]) -> str:
    """Return what to write for measures among the files, as in ``-m nDCG@10 AP``; empty without any."""
    from scorer.measures import parse

    names: list[str] = []
    for file in files:
        with suppress(MeasureError, OSError):  # no measure, or too long to be the name of a file
            names += [file] if not Path(file).exists() and parse(file) else []
    return f"no file is called {quoted(names[0])}; write {','.join([*requested, *names])}" if names else ""


def swapped_note(graded: Solution, solution: str, submission: str) -> list[str]:
    """Return a message if grades look like run scores, and the run scores, of the first block, like grades."""
    from scorer.formats.detection import opened
    from scorer.formats.reading.bytes import UnreadableError

    grade = graded.ideal.grade
    if 2 * int((grade % 1 != 0).sum()) <= grade.size or not is_regular(submission):
        return []
    with suppress(UnreadableError), opened(submission, None, "from") as (detected, head, _):
        score = detected.ranked(head)(head, Findings()).run_score
        return [_swapped(solution, submission)] if score is not None and not (score % 1).any() else []
    return []


def _swapped(solution: str, submission: str) -> str:
    first, second = (printable(shown(path)) for path in (solution, submission))
    looks = f"{first}: looks like a submission, and {second} like a solution"
    return looks + ", so they look swapped; the solution comes first"
