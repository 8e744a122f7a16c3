"""``scorer trec_eval``: the command line and the output of trec_eval 10."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from scorer.cli.evaluate import check_standard_input
from scorer.cli.output import print_message, print_result
from scorer.cli.parameters import WrongCallError, argument, option, whole_number, wrong_call
from scorer.errors import ContentError, ScorerError
from scorer.files import is_regular, shown
from scorer.wording import counted, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.measures import Measure

_FORMAT = "trec"

_REFUSED = {
    "--Debug_level": ("0", "it prints variables of trec_eval, which do not exist here; leave it out"),
    "--Zscore": (None, "Z scores are not computed; divide the differences from your means by your deviations"),
    "--Rel_info_format": ("qrels", "only qrels can be read; preferences and judgement groups are not computed"),
    "--Results_format": ("trec_results", "only trec_results can be read, the only format of trec_eval 10, too"),
}
"""Options of trec_eval that cannot be had, with the value that changes nothing, and the reason."""


def trec_eval(
    qrels: str | None = argument("the graded items of every query: a path or a URL"),
    run: str | None = argument("the ranked lists: a path, a URL, or - for standard input"),
    per_query: bool = option("-q, --query_eval_wanted", "print the scores of each query too"),
    no_summary: bool = option("-n, --nosummary", "print no means"),
    names: list[str] = option(
        "-m, --measure MEASURE",
        "a measure or a group of trec_eval, as in P.5,10 or all_trec; repeatable; default: official",
    ),
    complete: bool = option(
        "-c, --complete_rel_info_wanted", "average over all queries of the qrels: a query without a list scores 0"
    ),
    level: int = option(
        "-l, --level_for_rel NUM",
        "the lowest grade that counts as relevant; default: 1",
        type=whole_number(0),
        default=1,
    ),
    judged_only: bool = option("-J, --Judged_docs_only", "remove unjudged items from the lists before they are scored"),
    most: int | None = option(
        "-M, --Max_retrieved_per_topic NUM",
        "the number of items of each list that count; default: all",
        type=whole_number(1),
    ),
    collection: int = option(
        "-N, --Number_docs_in_coll NUM",
        "the number of documents in the collection, which utility uses",
        type=whole_number(0, 10**12),
        default=0,
    ),
    qrels_format: str = option("-R, --Rel_info_format FORMAT", "only qrels", default="qrels"),
    run_format: str = option("-T, --Results_format FORMAT", "only trec_results", default="trec_results"),
    old: bool = option(  # noqa: ARG001
        "-o, --Output_old_results_format", "ignored, as in trec_eval 10"
    ),
    debug: str = option("-D, --Debug_level NUM", "only 0", default="0"),
    z_scores: str | None = option("-Z, --Zscore FILE", "refused: Z scores are not computed"),
    version: bool = option("-v, --version", "print the version and exit"),
) -> None:
    """Score a run as trec_eval does: its options, its names of measures, its output.

    Names are read with their meaning in trec_eval 10, and the output is equal to the byte. The numbers are those of
    `scorer evaluate`. docs/trec-eval.md lists what differs, with the reason.
    """
    if version:
        from importlib.metadata import version as installed

        print_message(f"scorer {installed('challenge-scorer')}, with the options of trec_eval 10")
        return
    if qrels is None or run is None:
        raise WrongCallError("expected two files: the qrels, then the run")
    check_standard_input(qrels, run)
    _refuse({"--Debug_level": debug, "--Zscore": z_scores}, WrongCallError)
    _refuse({"--Rel_info_format": qrels_format, "--Results_format": run_format}, ScorerError)

    from scorer.board.reports.scores import TrecEvalOutput
    from scorer.lists.formats.trec import last_tag
    from scorer.measures import registry
    from scorer.measures.names import printed_measures
    from scorer.scoring.evaluation import score_source
    from scorer.scoring.outcomes import Rules

    with wrong_call("--measure"):
        printed = printed_measures(names, registry, collection=collection, level=level)
    measures = [line.measure for line in printed if line.measure is not None]
    solution = _qrels(qrels, measures)
    rules = Rules(
        tuple(dict.fromkeys(measures)),
        list_length=most,
        submission_format=f"{_FORMAT}:tag=*",
        unjudged="drop" if judged_only else "nonrelevant",
    )
    with _saved(run) as path:
        scored = score_source(solution, path, rules, shown(run))
        tag = last_tag(path)
    if scored.counts.repeated:
        found = f"{counted(scored.counts.repeated, 'item')} listed again in the same list"
        _stop(f"{shown(run)}: {found}; list each item once, as trec_eval requires")
    output = TrecEvalOutput(solution, scored, printed, tag, complete, per_query, not no_summary)
    if output.left_out:
        queries = counted(output.left_out, "query", "queries")
        print_message(f"{shown(run)}: {queries} of {len(solution.queries):,} left out without a list; -c scores them 0")
    if scored.counts.few_known:
        print_message(f"{shown(run)}: none or hardly any of its items is in the qrels; check the ids")
    if text := output.text():
        print_result(text)


def _refuse(given: Mapping[str, str | None], error: type[Exception]) -> None:
    for flag, value in given.items():
        harmless, reason = _REFUSED[flag]
        if value != harmless:
            raise error(f"{flag}: {reason}")


def _qrels(path: str, measures: list[Measure]) -> Solution:
    """Read the qrels, whose grades must be whole numbers."""
    from scorer.lists.formats import shortest
    from scorer.lists.reading.arrow import take
    from scorer.lists.solution import Solution
    from scorer.scoring.outcomes import check_gains

    try:
        solution = Solution.read(path, _FORMAT)
        check_gains(solution, measures, shown(path))
    except ContentError as error:
        _stop(str(error))
    fractions = (solution.ideal.grade % 1 != 0).nonzero()[0]
    if fractions.size:
        first = fractions[:1]
        query = take(solution.queries, solution.ideal.query[first])[0].as_py()
        found = f"query {quoted(query)} has the grade {shortest(float(solution.ideal.grade[first[0]]))}"
        expected = "expected whole numbers, or use `scorer evaluate`"
        raise ScorerError(f"{shown(path)}: {found}; trec_eval drops the fraction; {expected}")
    return solution


def _stop(text: str) -> NoReturn:
    """Print what is wrong with readable files, and exit with trec_eval's code for measures that it cannot compute."""
    print_message(text)
    raise SystemExit(4)


@contextmanager
def _saved(run: str) -> Iterator[str | Path]:
    """The path of the run; a temporary copy of what can be read only once, since the tag is read after the rows."""
    import shutil

    from scorer.files.writing import temporary_folder
    from scorer.lists.reading.blocks import UnreadableError, open_bytes

    if is_regular(run) or (run != "-" and not Path(run).exists()):
        yield run
        return
    with temporary_folder() as folder:
        copy = folder / "run"
        try:
            with open_bytes(run) as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except UnreadableError as error:
            raise ScorerError(f"{shown(run)}: {error}") from error
        yield copy
