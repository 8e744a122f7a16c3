"""The analysis of tasks as a page: sections with their tables and charts, and the self-contained page of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Unpack

from scorer.board.charts.panel import Chart
from scorer.board.charts.rankings import blob_plot, query_boxes, ranking_rules, scores_with_intervals, significance_map
from scorer.board.reports import report_text
from scorer.board.reports.comparisons import decimals_of
from scorer.errors import need_libraries
from scorer.lists.solution import Solution, Source
from scorer.measures import registry
from scorer.measures.names import MeasureNames
from scorer.options import REPORT_FORMS, RESAMPLES, SEED, ReportForm
from scorer.scoring.analysis.analysis import Report, Settings, TaskAnalysis, analysed_tasks, json_text, report_document
from scorer.scoring.analysis.compare import Comparison, run_tasks
from scorer.scoring.evaluation import Keywords, takes_options
from scorer.wording import quoted

STYLES = ("style.css", "report.css")
"""The style sheets in the page, in this order."""


def report_page(report: Report, templates: Path | None = None) -> str:
    """Return a report as an HTML file that needs no other file and no script.

    The templates and style sheets of the folder `templates` come before the shipped ones. Raises ScorerError if one
    cannot be read or rendered.
    """
    from markupsafe import Markup  # noqa: PLC0415 (an optional extra)

    from scorer.board.site.templates import environment_of, render_template, source  # noqa: PLC0415

    environment = environment_of(templates)
    styles = "\n".join(source(environment, name) for name in STYLES)
    environment.filters |= {
        "task_title": report_text.task_title,
        "task_sections": report_text.task_sections,
        "drawn": lambda figure, analysis: CHARTS[figure.chart](analysis, figure.caption).svg(),
    }
    context = {
        "title": report_text.title(report),
        # A style sheet is not escaped in HTML, and nothing in it may end its element.
        "styles": Markup(styles.replace("</", "<\\/")),  # noqa: S704
        "introduction": report_text.introduction(report),
        "tasks": report.tasks,
        "consensus": report_text.consensus_section(report),
        "methods": report_text.methods(report),
    }
    return render_template(environment, "report.html", context)


def report_in_form(report: Report, form: ReportForm, templates: Path | None = None) -> str:
    """Return a report in a form, without a final line end; `templates` are for `report_page`."""
    if form == "json":
        return json_text(report_document(report))
    if form == "markdown":
        return report_text.report_markdown(report)
    return report_page(report, templates).rstrip("\n")


# The charts


def _measure(analysis: TaskAnalysis) -> str:
    return analysis.task.measure or "Value"


CHARTS: Mapping[str, Callable[[TaskAnalysis, str], Chart]] = {
    "intervals": lambda of, finding: scores_with_intervals(
        of.names, of.means.tolist(), of.resampling.intervals.tolist(), _measure(of), finding, decimals_of(of)
    ),
    "significance": lambda of, finding: significance_map(of.names, of.better, finding, what=of.task.words.algorithm),
    "blobs": lambda of, finding: blob_plot(
        of.names, of.resampling.frequencies, of.resampling.quantiles.tolist(), of.ranking.ranks.tolist(), finding
    ),
    "rules": lambda of, finding: ranking_rules(
        of.names, {rule: ranking.ranks.tolist() for rule, ranking in of.rules.items() if ranking.is_defined}, finding
    ),
    "boxes": lambda of, finding: query_boxes(of.names, of.task.shown, _measure(of), finding),
}
"""The charts of a task, by the names that `board.reports.report_text` has for them."""


def figures(comparison: Comparison) -> dict[str, Chart]:
    """Return the charts of a report as objects, by name; a notebook draws a chart that is shown.

    Parameters
    ----------
    comparison
        The result of `compare`.

    Returns
    -------
    dict
        Each chart by its name, as "boxes", the scores of each query. Its `svg().text` is the picture as SVG, and its
        `description` says what it shows. With one query, there is no chart of ranks in resamples, "blobs".

    Examples
    --------
    >>> import scorer
    >>> runs = {"a": {"q1": ["d1"], "q2": ["d2"]}, "b": {"q1": ["d1"]}}
    >>> charts = scorer.figures(scorer.compare({"q1": {"d1": 2}, "q2": {"d2": 1}}, runs, "AP"))
    >>> list(charts)
    ['intervals', 'significance', 'blobs', 'rules', 'boxes']
    >>> charts["boxes"].svg().text[:4]
    '<svg'
    """
    analysis = comparison.analysis
    blocks = (block for section in report_text.task_sections(analysis) for block in section.blocks)
    figures = [block for block in blocks if isinstance(block, report_text.Figure)]
    return {figure.chart: CHARTS[figure.chart](analysis, figure.caption) for figure in figures}


@takes_options
def report(
    solution: Source | Solution,
    runs: Mapping[str, Source],
    measures: MeasureNames,
    *,
    form: ReportForm = "html",
    title: str = "runs",
    resamples: int = RESAMPLES,
    seed: int = SEED,
    all_pairs: bool = False,
    tukey: bool = False,
    **options: Unpack[Keywords],
) -> str:
    """Report on the ranking of submissions: how certain it is, which differences are significant, how stable ranks are.

    Parameters
    ----------
    solution
        As for `evaluate`.
    runs
        At least two submissions by name, each as for `evaluate`.
    measures
        One or several measures whose aggregate is a mean, as in "nDCG@10"; the report has a part for each of them.
    form
        "html" is one file without scripts; "markdown"; "json" has all numbers.
    title
        The report is called "Analysis of" this.
    resamples, seed, all_pairs
        As for `compare`.
    tukey
        Whether to add the randomised Tukey HSD test, which takes longer.
    split, missing, ties, nothing_relevant, unjudged, exclude, clusters, rel, solution_format, submission_format
        As for `evaluate`.

    Returns
    -------
    str
        The report, without a final line end.

    Raises
    ------
    ValueError
        There are fewer than two submissions, the name of one is not text, or a setting is not an allowed word.
    MeasureError
        A measure is unknown, or its aggregate is not a mean.
    SolutionError, SubmissionsError
        The solution or some submissions cannot be read or are invalid.
    ScorerError
        A measure is undefined for all queries.

    Examples
    --------
    >>> import scorer
    >>> solution = {"q1": {"d1": 2}, "q2": {"d2": 1}}
    >>> runs = {"a": {"q1": ["d1"], "q2": ["d2"]}, "b": {"q1": ["d1"]}}
    >>> scorer.report(solution, runs, "AP", form="markdown").splitlines()[0]
    '# Analysis of runs'
    """
    if form not in REPORT_FORMS:
        raise ValueError(f"form: found {quoted(str(form))}, expected {', '.join(REPORT_FORMS)}")
    if form == "html":
        need_libraries("jinja2")
    settings = Settings(seed=seed, resamples=resamples, all_pairs=all_pairs, tukey=tukey)
    tasks, notes = run_tasks(solution, runs, registry.requested(measures), **options)
    lines = [line for run in notes.values() for line in run]
    return report_in_form(analysed_tasks(title, tasks, settings, "drop", lines), form)
