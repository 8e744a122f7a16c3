"""The analysis of tasks as a page: sections with their tables and charts, and the self-contained page of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jinja2 import ChoiceLoader
from markupsafe import Markup

from scorer.analysis.analysis import Report, TaskAnalysis
from scorer.charts.blob_plot import blob_plot
from scorer.charts.podium_plot import podium_plot
from scorer.charts.query_boxes import query_boxes
from scorer.charts.ranking_rules import ranking_rules
from scorer.charts.scores_with_intervals import scores_with_intervals
from scorer.charts.significance_map import significance_map
from scorer.charts.svg import Chart
from scorer.charts.tau_violin import tau_violin
from scorer.reports import report_text
from scorer.reports.document import BlockView, Captioned, Section, SectionView, TaskView
from scorer.reports.narrative import task_sections
from scorer.reports.phrases import decimals_of
from scorer.site.templates import TemplateFolder, environment_with, has_templates, render_template, shipped_templates

STYLES = ("style.css", "report.css")
"""The style sheets in the page, in this order."""

WIDTH = 600
"""Of the charts, in pixels; they shrink with the page."""


def task_view(analysis: TaskAnalysis, number: int = 1) -> TaskView:
    """Return the view of a task. Its number makes the anchor unique on a page with several tasks."""
    return TaskView(
        report_text.task_title(analysis),
        f"task-{number}",
        tuple(_section(section, analysis) for section in task_sections(analysis)),
    )


def report_page(report: Report, templates: Path | None = None) -> str:
    """Return a report as an HTML file that needs no other file and no script.

    The templates and style sheets of the folder `templates` come before the shipped ones. Raises ScorerError if one
    cannot be read or rendered.
    """
    own = [] if templates is None else [TemplateFolder(templates)]
    loader = ChoiceLoader([*own, TemplateFolder(shipped_templates())])
    environment = environment_with(loader, own=templates is not None and has_templates(templates))
    styles = "\n".join(loader.get_source(environment, name)[0] for name in STYLES)
    consensus = report_text.consensus(report)
    context = {
        "title": report_text.title(report),
        # A style sheet is not escaped in HTML, and nothing in it may end its element.
        "styles": Markup(styles.replace("</", "<\\/")),  # noqa: S704
        "introduction": _section(report_text.introduction(report)),
        "tasks": [task_view(task, number) for number, task in enumerate(report.tasks, 1)],
        "consensus": None if consensus is None else _section(consensus),
        "methods": _section(report_text.methods(report)),
    }
    return render_template(environment, "report.html", context)


def _section(section: Section, analysis: TaskAnalysis | None = None) -> SectionView:
    blocks: list[BlockView] = []
    for block in section.blocks:
        if isinstance(block, str):
            blocks.append(BlockView(paragraph=block))
        elif isinstance(block, Captioned):
            blocks.append(BlockView(table=block.table, caption=block.caption))
        elif analysis is not None:
            blocks.append(BlockView(chart=CHARTS[block.chart](analysis).svg(), caption=block.caption))
    return SectionView(section.title, tuple(blocks))


# The charts


def _intervals(analysis: TaskAnalysis) -> Chart:
    return scores_with_intervals(
        analysis.names,
        analysis.means.tolist(),
        [(low, high) for low, high in analysis.resampling.percentile.tolist()],
        _measure(analysis),
        decimals_of(analysis),
        width=WIDTH,
    )


def _significance(analysis: TaskAnalysis) -> Chart:
    what = analysis.task.words.algorithm
    return significance_map(analysis.names, analysis.better.tolist(), what=what, width=WIDTH)


def _blobs(analysis: TaskAnalysis) -> Chart:
    resampling = analysis.resampling
    return blob_plot(
        analysis.names,
        resampling.frequencies.tolist(),
        [(low, median, high) for low, median, high in resampling.quantiles.tolist()],
        analysis.ranking.ranks.tolist(),
        width=WIDTH,
    )


def _tau(analysis: TaskAnalysis) -> Chart:
    return tau_violin(analysis.task.name, analysis.resampling.taus, width=WIDTH)


def _rules(analysis: TaskAnalysis) -> Chart:
    ranks = {rule: ranking.ranks.tolist() for rule, ranking in analysis.rules.items() if ranking.is_defined}
    return ranking_rules(analysis.names, ranks, width=WIDTH)


def _boxes(analysis: TaskAnalysis) -> Chart:
    return query_boxes(analysis.names, analysis.task.values, _measure(analysis), width=WIDTH)


def _podium(analysis: TaskAnalysis) -> Chart:
    return podium_plot(
        analysis.names,
        analysis.task.values,
        _measure(analysis),
        smaller_is_better=not analysis.task.larger_is_better,
        width=WIDTH,
    )


def _measure(analysis: TaskAnalysis) -> str:
    return analysis.task.measure or "Value"


CHARTS: Mapping[str, Callable[[TaskAnalysis], Chart]] = {
    "intervals": _intervals,
    "significance": _significance,
    "blobs": _blobs,
    "tau": _tau,
    "rules": _rules,
    "boxes": _boxes,
    "podium": _podium,
}
"""The charts of a task, by the names that `reports.narrative` has for them."""
