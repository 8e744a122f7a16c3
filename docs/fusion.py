"""The pages about fusion methods, one for each, generated from their declarations."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import scorer
from scorer.measures.matched import Parameter
from scorer.runs.fuse import METHODS, NORMALISATIONS
from scorer.runs.fusion import Method

WIDTH = 68

RUNS = {
    "one": {"q": {"a": 9.0, "b": 7.0, "c": 3.0}},
    "two": {"q": {"b": 0.8, "d": 0.6, "a": 0.4}},
    "three": {"q": {"d": 12.0, "b": 10.0}},
}
"""The runs of the example."""

VALUES = {"gamma": 0.5, "phi": 0.8, "weights": (0.5, 0.3, 0.2)}
"""The values of parameters without a default in the example."""


def pages() -> dict[str, str]:
    """Return the Markdown of each page by file name."""
    names = {f"{method.name}.md": page(method) for method in METHODS}
    toctree = "\n".join(name.removesuffix(".md") for name in names)
    index = f"# Fusion methods\n\n{_tables()}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    return {**names, "index.md": index}


def page(method: Method) -> str:
    """Return the page of a method: what it is, edge cases, parameters, an example, other names, and its source."""
    uses = "run scores, normalised first" if method.uses == "scores" else "ranks, so no normalisation is needed"
    lines = fill(method.formula, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    parts = [
        f"# {method.name}: {method.title}",
        f"`{method.usage}`",
        method.summary,
        f"```text\n{lines}\n```",
        method.edge_cases,
        f"It uses {uses}.",
    ]
    if method.parameters:
        heads = "| parameter | meaning | allowed | default | values that tuning tries |\n|---|---|---|---|---|"
        parts += ["## Parameters", "\n".join([heads, *map(_parameter, method.parameters)])]
    parts += ["## An example", *_example(method)]
    names = ", ".join(f"`{name}`" for name in (method.name.upper(), *method.aliases))
    parts += ["## Also written", f"{names}. In ranx it is `{method.name}`.", "## Source", method.source]
    return "\n\n".join(parts) + "\n"


def _parameter(parameter: Parameter) -> str:
    first, last, step = parameter.about.grid or (0, 0, 0)
    tried = f"{first:g} to {last:g} in steps of {step:g}{', with the sum 1' if parameter.weights else ''}"
    default = "none" if parameter.default is None else f"`{parameter.default:g}`"
    return f"| `{parameter.name}` | {parameter.about.description} | {parameter.allowed} | {default} | {tried} |"


def _example(method: Method) -> list[str]:
    """Return the runs, and the fused list."""
    rows = [
        f"| {name} | {', '.join(f'{item} ({score:g})' for item, score in run['q'].items())} |"
        for name, run in RUNS.items()
    ]
    settings: dict[str, Any] = {each.name: VALUES[each.name] for each in method.parameters if each.default is None}
    table = scorer.fuse(RUNS, method.name, **settings)
    fused = [f"| {row['rank']} | {row['item']} | {row['score']:.4f} |" for row in table.to_pylist()]
    given = "".join(f", with `{name}={value}`" for name, value in settings.items())
    norm = " after min-max normalisation" if method.uses == "scores" else ""
    return [
        "\n".join(["| run | items with their scores |", "|---|---|", *rows]),
        f"The fused list{norm}{given}:",
        "\n".join(["| rank | item | score |", "|---|---|---|", *fused]),
    ]


def _tables() -> str:
    methods = [f"| [{each.name}]({each.name}.md) | {each.title} | {each.summary} |" for each in METHODS]
    norms = [
        f"| `{each.name}` | {each.summary} | {each.formula} | {', '.join(f'`{name}`' for name in each.aliases)} |"
        for each in NORMALISATIONS
    ]
    return "\n".join(
        [
            *("| method | | |", "|---|---|---|", *methods),
            *("", "Normalisations, where s is a score, and min, max and mean are those of the list:", ""),
            *("| normalisation | | formula | also written |", "|---|---|---|---|", *norms),
        ]
    )
