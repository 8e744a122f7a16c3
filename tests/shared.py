"""What tests derive again and again, kept in a folder of all workers of a run: statistics, and challenges that tests
copy; and the SQL of statements, kept by each worker.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from hashlib import sha256
from html import escape
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.engine.default import DefaultDialect

from scorer.board import statistics
from scorer.board.charts.panel import Chart, Svg
from scorer.board.statistics import ScoredRows
from scorer.organising import render as organising_boards
from scorer.scoring.analysis.kept import Kept, Task
from scorer.wording import printable


class Shared:
    """Texts by their keys, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}

    def text(self, key: str, compute: Callable[[], str]) -> str:
        """The text with this key, which the first worker computes that needs it."""
        if key not in self._known:
            path = self._folder / key
            try:
                self._known[key] = path.read_bytes().decode()
            except FileNotFoundError:
                self._known[key] = compute()
                part = path.with_suffix(f".{os.getpid()}-{get_ident()}")
                part.write_bytes(self._known[key].encode())
                part.replace(path)
        return self._known[key]


_templates: list[Path] = []
"""The folder for folders that are built once, during a run of the tests."""


def build_once(folder: Path, *key: object, build: Callable[[Path], object]) -> None:
    """Make a folder that no other folder of this key differs from: the first worker builds it, and all copy it."""
    if not _templates:
        build(folder)
        return
    template = _templates[-1] / key_of(Chart.svg.__name__, *key)  # with pictures, or without
    if not template.exists():
        part = template.with_suffix(f".{os.getpid()}-{get_ident()}")
        build(part)
        with suppress(OSError):  # another worker was faster
            part.rename(template)
    shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)


@contextmanager
def sharing(folder: Path) -> Iterator[None]:
    """Compute each statistic of a board and each analysis of a track once, and build each template once.

    The keys have all arguments, also the scores of each query, so that a wrong key of the cache in a database is found
    as it is without sharing.
    """
    shared = Shared(folder)
    compute_column, analyse = statistics._computed, organising_boards._computed_analysis

    @wraps(compute_column)
    def computed(scored: ScoredRows, column: int, kept: Kept) -> str:
        track = scored.board.track
        rows = [
            (row.rank, row.preliminary_rank, row.baseline, row.entry and (row.entry.preliminary, row.entry.final))
            for row in scored.rows
        ]
        rules = (repr(track).replace(str(track.root), ""), scored.board.shows_both, scored.flagged.tobytes())
        scores, _ = scored.of_measure(track.all_measures[column], kept)
        key = key_of("statistics", column, scored.key(column), rules, rows, scores.shape, scores.tobytes())
        return shared.text(key, lambda: compute_column(scored, column, kept))

    @wraps(analyse)
    def analysed(task: Task) -> str:
        key = key_of("analysis", replace(task, values=np.zeros(0), kept=None), task.values.shape, task.values.tobytes())
        return shared.text(key, lambda: analyse(task))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_computed", computed)
        patch.setattr(organising_boards, "_computed_analysis", analysed)
        _templates.append(folder)
        yield
        _templates.pop()


@contextmanager
def undrawn() -> Iterator[None]:
    """Give each chart its title, its description and a digest of its picture, instead of the picture."""
    draw = Chart.svg

    def described(chart: Chart) -> Svg:
        title, description, digest = escape(printable(chart.title)), escape(chart.description), key_of(draw(chart).text)
        return Svg(
            f'<svg class="chart" role="img"><title>{title}</title><desc>{description}</desc><text>{digest}</text></svg>'
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chart, "svg", described)
        yield


@contextmanager
def compiling_once() -> Iterator[None]:
    """Compile each statement once for all databases of a kind.

    SQLAlchemy keeps the SQL of statements for each engine, and nearly every test has a new database. What is kept has
    as its key the dialect and the whole statement; here all dialects of a kind are equal.
    """
    kept: dict[type, Any] = {}
    prepare = Engine.__init__

    @wraps(prepare)
    def prepared(engine: Engine, *arguments: Any, **options: Any) -> None:
        prepare(engine, *arguments, **options)
        engine._compiled_cache = kept.setdefault(type(engine.dialect), engine._compiled_cache)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", prepared)
        patch.setattr(DefaultDialect, "__eq__", lambda dialect, other: type(dialect) is type(other))
        patch.setattr(DefaultDialect, "__hash__", lambda dialect: hash(type(dialect)))
        yield


def key_of(*parts: object) -> str:
    """A digest of what a text is derived from."""
    return sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()
