"""The pages about measures, one for each, generated from their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

from docs.examples import EXAMPLES, Example
from docs.peers import DIFFERENCES, PEERS
from scorer.board.site import measure_page
from scorer.cli.reports import remarks
from scorer.measures import KINDS, Kind, parse
from scorer.measures.names import REFUSED

OPTIONS = "For equal numbers, set the [options](../coming-from.md) for missing queries and ties as the tool has them."

WIDTH = 68


def pages() -> dict[str, str]:
    """Return the Markdown of each page by file name."""
    names = {f"{slug(kind)}.md": page(kind) for kind in KINDS}
    toctree = "\n".join(name.removesuffix(".md") for name in names)
    index = f"# Measures\n\n{_table()}\n\n{_left_out()}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    return {**names, "index.md": index}


def slug(kind: Kind) -> str:
    """Return the file name of a kind, without extension; names are unique also where case is ignored."""
    return kind.name.lower()


def page(kind: Kind) -> str:
    """Return the page of a measure: what it is, parameters, edge cases, an example, other names, and its source."""
    parameters = [
        f"| `{each.name}` | {each.about.description} | {each.allowed} | `{each.default}` |" for each in kind.parameters
    ]
    parts = [
        f"# {kind.name}: {kind.title}",
        f"`{kind.usage}`",
        kind.summary,
        _formula(kind),
        kind.edge_cases,
        "\n".join(f"- {remark}" for remark in remarks(kind)),
    ]
    if parameters:
        heads = "| parameter | meaning | allowed | default |\n|---|---|---|---|"
        parts += ["## Parameters", "\n".join([heads, *parameters])]
    parts += ["## A worked example", *_worked(EXAMPLES[kind.name])]
    written = [
        *(f"- `{alias}`{_settled(settled)}" for alias, settled in kind.aliases.items()),
        *(f"- `{name}`{_settled(settled)}, without a cut-off" for name, settled in kind.whole_list_names.items()),
        *(f"- `{name}` without a cut-off: at {cutoffs}" for name, cutoffs in kind.families.items()),
    ]
    if written:
        parts += ["## Also written", "\n".join(written)]
    parts += ["## In other tools", *_elsewhere(kind)]
    parts += ["## Source", kind.source]
    return "\n\n".join(parts) + "\n"


def _worked(example: Example) -> list[str]:
    """Return the list with its grades, and the computation of the score."""
    parts = []
    for query, listed in example.lists.items():
        grades = example.solution[query]
        if len(example.lists) > 1:
            parts.append(f"Query {query}:")
        divided = any(isinstance(grade, Mapping) for grade in grades.values())
        rows = [f"| {rank} | {item} | {_grade(grades.get(item))} |" for rank, item in enumerate(listed, 1)]
        rows += [f"| not listed | {item} | {_grade(grades[item])} |" for item in grades if item not in listed]
        head = "grade by subtopic" if divided else "grade"
        parts.append("\n".join([f"| rank | item | {head} |", "|---|---|---|", *rows]))
    return [*parts, example.working, _block(f"{example.measure} = {example.arithmetic} = {example.score:.4f}")]


def _block(text: str) -> str:
    """Return a block of text, in lines that fit the page."""
    lines = fill(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return f"```text\n{lines}\n```"


def _formula(kind: Kind) -> str:
    """Return the formula as MathML, which needs no script, with the plain text as its alternative; and its symbols."""
    displayed, where = measure_page.displayed(kind.latex, kind.formula), measure_page.inline(kind.latex)
    return f"```{{raw}} html\n{displayed}\n<p>{where}</p>\n```"


def _grade(grade: float | Mapping[str, float] | None) -> str:
    if isinstance(grade, Mapping):
        return ", ".join(f"{subtopic}: {each:g}" for subtopic, each in grade.items())
    return "not judged" if grade is None else f"{grade:g}"


def _elsewhere(kind: Kind) -> list[str]:
    """Return the names in other tools, each with our name of the same number, and the differences in words."""
    rows = [
        f"| {peer} | `{placed(theirs)}` | `{placed(ours)}` |"
        for peer, names in PEERS.items()
        for theirs, ours in names.items()
        if parse(ours.format(k=1, level=1))[0].kind is kind
    ]
    table = "\n".join(["| tool | there | the same number here |", "|---|---|---|", *rows])
    differences = "\n".join(f"- {difference}" for difference in DIFFERENCES.get(kind.name, ()))
    return [*([table, OPTIONS] if rows else []), differences]


def placed(template: str) -> str:
    """Return a name of the peers' tables with letters for its cut-off and level."""
    return template.format(k="k", level="level")


def _settled(parameters: Mapping[str, object]) -> str:
    return "".join(f", with `{name}={value}`" for name, value in parameters.items())


def _left_out() -> str:
    """Return the names that are refused, with the reasons."""
    names: dict[str, list[str]] = {}
    for name, reason in REFUSED.items():
        names.setdefault(reason, []).append(name)
    rows = [f"| {', '.join(f'`{each}`' for each in alike)} | {reason} |" for reason, alike in names.items()]
    heads = "These names of other tools are refused, with the reason as the message:\n\n| name | it ... |\n|---|---|"
    return "\n".join(["## Left out\n", heads, *rows])


def _table() -> str:
    rows = [f"| [{kind.name}]({slug(kind)}.md) | {kind.title} | {kind.summary} |" for kind in KINDS]
    return "\n".join(["| | | |", "|---|---|---|", *rows])
