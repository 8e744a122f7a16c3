"""A page for each measure, made from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scorer.measures import KINDS, Kind


def write_pages(folder: Path) -> None:
    """Write the pages, and one that lists them, as Markdown."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """File name -> Markdown."""
    names = {f"{slug(kind)}.md": page(kind) for kind in KINDS}
    toctree = "\n".join(name.removesuffix(".md") for name in names)
    index = f"# Measures\n\n{_table()}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    return {**names, "index.md": index}


def slug(kind: Kind) -> str:
    """A file name that differs from all others also where case does not count: ``R`` and ``RR`` are two, `r` is not."""
    return kind.name.lower()


def page(kind: Kind) -> str:
    """One measure: what it is, its parameters, edge cases, other names, and where it comes from."""
    parameters = [
        f"| `{each.name}` | {each.about.description} | {each.allowed} | `{each.default}` |" for each in kind.parameters
    ]
    parts = [
        f"# {kind.name}: {kind.title}",
        f"`{kind.usage}`",
        kind.summary,
        f"    {kind.formula.replace(chr(10), chr(10) + '    ')}",
        kind.edge_cases,
    ]
    if parameters:
        heads = "| parameter | what it says | allowed | without it |\n|---|---|---|---|"
        parts += ["## Parameters", "\n".join([heads, *parameters])]
    if kind.aliases:
        parts += [
            "## Also written",
            "\n".join(f"- `{alias}`{_settled(settled)}" for alias, settled in kind.aliases.items()),
        ]
    parts += ["## Source", kind.source]
    return "\n\n".join(parts) + "\n"


def _settled(parameters: Mapping[str, object]) -> str:
    return "".join(f", with `{name}={value}`" for name, value in parameters.items())


def _table() -> str:
    rows = [f"| [{kind.name}]({slug(kind)}.md) | {kind.title} | {kind.summary} |" for kind in KINDS]
    return "\n".join(["| | | |", "|---|---|---|", *rows])
