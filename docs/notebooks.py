"""Run the notebooks of the documentation without Jupyter, and write what their cells show.

python -m docs.notebooks          run docs/*.ipynb, and write the files with their outputs
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SHOWN = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}
"""The method that gives the value of a cell in a format; each value has a text, too."""


def executed(notebook: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells, which run from top to bottom in one namespace."""
    names: dict[str, Any] = {}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            cells.append(cell)
            continue
        count += 1
        cells.append(
            {**cell, "execution_count": count, "outputs": _outputs("".join(cell["source"]), count, name, names)}
        )
    return {**notebook, "cells": cells}


def text_of(notebook: Mapping[str, Any]) -> str:
    """The file of a notebook, as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _outputs(source: str, count: int, name: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell. What it prints, and the value of a last line that is an expression."""
    tree, last = ast.parse(source), None
    if tree.body and isinstance(end := tree.body[-1], ast.Expr):
        last = ast.Expression(end.value)
        tree.body.pop()
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, f"{name}[{count}]", "exec"), names)
        value = None if last is None else eval(compile(last, f"{name}[{count}]", "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {form: getattr(value, method)() for form, method in SHOWN.items() if hasattr(value, method)}
        data = {form: _lines(text) for form, text in {"text/plain": repr(value), **shown}.items()}
        found.append({"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for file in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(text_of(executed(notebook, file.name)), encoding="utf-8", newline="\n")
