"""A whole report as text: its sections, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from scorer.analysis.analysis import Report, TaskAnalysis
from scorer.reports.document import Block, Captioned, Section, markdown
from scorer.reports.narrative import task_sections
from scorer.reports.phrases import names
from scorer.wording import counted, joined, printable
from scorer.wording.table import table_of


def title(report: Report) -> str:
    """Return the title of a report."""
    return f"Analysis of {printable(report.title)}"


def task_title(analysis: TaskAnalysis) -> str:
    """Return the heading of a task."""
    return f"{analysis.task.words.task.capitalize()} {printable(analysis.task.name)}"


def introduction(report: Report) -> Section:
    """Return what is analysed, and how."""
    count, words = len(report.tasks), report.tasks[0].task.words
    blocks: list[Block] = [f"The report is about {counted(count, words.task, words.tasks)}.", *report.notes]
    if count > 1:
        blocks.append(
            Captioned(
                f"The {words.tasks}.",
                table_of(
                    (words.task, words.algorithms, words.cases, "first", "tiers"),
                    (
                        (task.task.name, len(task.names), len(task.task.cases), _first(task), len(task.tiers))
                        for task in report.tasks
                    ),
                    (words.task, "first"),
                ),
            )
        )
    return Section("Summary", blocks)


def _first(task: TaskAnalysis) -> str:
    leaders = [name for name, rank in zip(task.names, task.ranking.ranks.tolist(), strict=True) if rank == 1]
    return names(leaders, task.task.words.algorithm, task.task.words.algorithms)


def consensus(report: Report) -> Section | None:
    """Return the ranking over all tasks; None for one task."""
    if len(report.tasks) < 2:
        return None
    return Section("Consensus", list(_consensus(report)))


def _consensus(report: Report) -> Iterator[Block]:
    words = report.tasks[0].task.words
    by_mean = report.consensus["mean"]
    if by_mean is None:
        yield f"No {words.algorithm} is in every {words.task}, so there is no ranking over all {words.tasks}."
        return
    everywhere = set(by_mean.algorithms)
    absent = sorted({name for task in report.tasks for name in task.names} - everywhere)
    yield (
        f"The consensus of {counted(len(report.tasks), words.task, words.tasks)} orders {words.algorithms} "
        f"by the mean of their ranks, where those that share a rank in a {words.task} get the mean of the ranks that "
        "they occupy."
    )
    if absent:
        listed = names(absent, words.algorithm, words.algorithms)
        verb = "is" if len(absent) == 1 else "are"
        yield f"Not in every {words.task}, and therefore left out, {verb} {listed}."
    leaders = [name for name, rank in zip(by_mean.algorithms, by_mean.ranks.tolist(), strict=True) if rank == 1]
    listed = names(leaders, words.algorithm, words.algorithms)
    yield f"By the mean, the first over all {words.tasks} {'is' if len(leaders) == 1 else 'are'} {listed}."
    rules = {rule: ranking for rule, ranking in report.consensus.items() if ranking is not None}
    yield Captioned(
        "Consensus ranks by each rule.",
        table_of(
            (words.algorithm, *rules),
            (
                (name, *(int(ranking.ranks[ranking.algorithms.index(name)]) for ranking in rules.values()))
                for name in by_mean.algorithms
            ),
            [words.algorithm],
        ),
    )
    missing = [rule for rule in report.consensus if rule not in rules]
    if missing:
        yield f"There is no consensus by {joined(missing)}, because the rule is undefined in a {words.task}."


def methods(report: Report) -> Section:
    """Return how the numbers were computed, and what they do not show."""
    settings, words = report.settings, report.tasks[0].task.words
    return Section(
        "Methods and caveats",
        [
            f"The bootstrap has {settings.resamples:,} resamples of the {words.cases}, drawn separately for each "
            f"{words.task}; the seed of all random numbers is {settings.seed}. All tests have the level 5 %. The same "
            "data, seed and version give the same report.",
            f"Intervals and tests describe what other {words.cases} from the same population would show, if these are "
            "a random sample of it. They do not describe other years, other annotators or other data.",
            "Intervals of two means may overlap although the difference is significant: the tests are paired, the "
            "intervals are of one mean each.",
            f"Ranks in resamples show how the ranking reacts to the choice of {words.cases}. They are no confidence "
            f"statement where {words.algorithms} tie; rank ranges are.",
            f"That a difference is not significant does not show that two {words.algorithms} are equal.",
        ],
    )


def report_markdown(report: Report) -> str:
    """Return a report as Markdown, without a final line end."""
    sections = [(2, introduction(report))]
    for task in report.tasks:
        sections.append((2, Section(task_title(task), [])))
        sections += [(3, section) for section in task_sections(task)]
    over_all = consensus(report)
    return markdown(title(report), [*sections, *([(2, over_all)] if over_all else []), (2, methods(report))])
