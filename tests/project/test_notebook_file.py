"""docs/*.ipynb: the cells of each notebook show what the file has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from docs.notebooks import executed, text_of
from tests.paths import DOCS

NOTEBOOKS = sorted(DOCS.glob("*.ipynb"))
DIGITS = re.compile(r"\d+\.\d{10,}")


def rounded(notebook: dict[str, Any]) -> str:
    """The text of a notebook; the last digits of numbers in full precision depend on the processor."""
    return DIGITS.sub(lambda number: f"{float(number[0]):.9f}", text_of(notebook))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_the_cells_show_what_the_notebook_has(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom in an empty folder; if this is intended, run `python -m docs.notebooks`."""
    if "import ir_measures" in file.read_text(encoding="utf-8"):
        pytest.importorskip("ir_measures")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(file.read_text(encoding="utf-8"))
    cells = [{**cell, "outputs": []} if "outputs" in cell else cell for cell in notebook["cells"]]

    assert rounded(executed({**notebook, "cells": cells}, file.name)) == rounded(notebook)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_the_file_is_as_jupyter_writes_it(file: Path) -> None:
    """Version 4.5 of the format: each cell has its kind, its id, its source as lines, and code also its outputs."""
    text = file.read_text(encoding="utf-8")
    notebook = json.loads(text)

    assert text == text_of(notebook)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) > 5
    for cell in notebook["cells"]:
        assert cell["cell_type"] in {"code", "markdown"}
        assert all(line.endswith("\n") for line in cell["source"][:-1])
        assert (cell["cell_type"] == "code") == ("outputs" in cell) == ("execution_count" in cell)


def test_an_error_in_a_cell_is_not_hidden() -> None:
    """It names the notebook and the number of the cell."""
    with pytest.raises(ZeroDivisionError) as failed:
        executed({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]}, "wrong.ipynb")
    assert failed.traceback[-1].frame.code.raw.co_filename == "wrong.ipynb[1]"
