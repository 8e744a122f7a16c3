"""Renders the views with the templates, and writes the pages into a folder that opens from disk.

`pages` is a function of the boards alone: the same boards give the same bytes. `write` brings a folder to that state
however an earlier render ended.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from traceback import walk_tb

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError

from scorer.board.board import Board, Row, Team
from scorer.board.rule_sheet import rules
from scorer.challenge.settings import Challenge, Track
from scorer.charts import Point, Svg, timeline
from scorer.entries.entry import Entry, Scores
from scorer.errors import ScorerError
from scorer.measures import Measure
from scorer.reports.boards import to_csv, to_json
from scorer.wording import counted

MANIFEST = ".manifest.json"
"""Lists the files that a render wrote, in the site's folder."""

PART = ".part"
"""Ends the name of a file that is being written."""

ASSETS = ("style.css", "board.js")
"""Copied as they are."""

NO_SCORE = "–"

LEADING = 6
"""How many teams of a board stand on the first page, where ranks are shared."""

WINDOWS = (64, 72, 80, 88, 96, 104)
"""Widths of windows, in rem, for each of which the style sheet has a class."""


def pages(challenge: Challenge, boards: Sequence[Board]) -> dict[str, str]:
    """The whole site: the text of each file under its path, which is relative and has forward slashes.

    Raises
    ------
    ScorerError
        A template of the organiser's is broken.
    """
    loader = ChoiceLoader([_Folder(challenge.root / "templates"), _Folder(_shipped())])
    environment = _environment(loader)
    legend = _legend(boards)
    views = [_board_view(board, legend) for board in boards]
    site = {asset: loader.get_source(environment, asset)[0] for asset in ASSETS}

    def add(path: str, template: str, **seen: object) -> None:
        root = "../" * path.count("/")
        known = {"challenge": challenge, "boards": views, "here": path, "root": root}
        site[path] = _render(environment, template, known | seen)

    add("index.html", "index.html")
    add("measures.html", "measures.html", kinds=_kinds(legend))
    for view in views:
        folder = view.track.name
        add(f"{folder}/index.html", "board.html", board=view)
        site[f"{folder}/leaderboard.csv"] = to_csv(view.board)
        site[f"{folder}/leaderboard.json"] = to_json(view.board)
    for team, places in _teams(views):
        add(f"teams/{team.slug}.html", "team.html", team=team, places=places)
    return site


# What the templates see, beside the boards' own plain values.


@dataclass(frozen=True, slots=True)
class Column:
    """A measure as the head of a column, and its place on the page about measures."""

    measure: Measure
    name: str
    """Canonical."""
    head: str
    """`nDCG` of `nDCG(gain=exp)@10`."""
    tail: tuple[str, ...]
    """The rest, in pieces between which a line may break."""
    anchor: str
    """Unlike that of every other measure of the site."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a board, with what is worked out for the page alone."""

    row: Row
    rank: str
    """`=3` where the rank is shared; empty for an unranked row."""
    scores: Scores
    """Those that the board is ranked by; all None for a team with nothing scored."""
    preliminary_rank: int | None
    change: int | None
    """Ranks won (above 0) or lost between the preliminary and the final ranking; None where either is missing."""
    bar: float | None
    """The primary score in percent of the highest on the board, final or preliminary."""
    tick: float | None
    """The preliminary primary score on the same scale."""


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board, ready for its page."""

    board: Board
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    rules: tuple[str, ...]

    @property
    def track(self) -> Track:
        return self.board.track

    @property
    def primary(self) -> Column:
        return self.columns[0]

    @property
    def is_final(self) -> bool:
        return self.track.stage == "final"

    @property
    def both_sides(self) -> bool:
        """Are preliminary scores shown beside the final ones?"""
        return self.is_final and self.board.preliminary_queries > 0

    @property
    def ranked_queries(self) -> int:
        """The queries that the scores it is ranked by are the mean over."""
        if not self.is_final:
            return self.board.preliminary_queries
        return self.board.scored_queries - (self.board.preliminary_queries if self.track.final == "rest" else 0)

    @property
    def teams(self) -> int:
        return sum(not line.row.baseline for line in self.lines)

    @property
    def ranked(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.row.rank is not None)

    @property
    def leading(self) -> tuple[Line, ...]:
        """The first three ranks, or as many teams of them as a summary has room for."""
        return tuple(line for line in self.ranked if line.row.rank in (1, 2, 3))[:LEADING]

    @property
    def entries(self) -> int:
        return sum(len(line.row.sent) for line in self.lines)

    def with_status(self, status: str) -> int:
        """How many entries have it."""
        return sum(entry.status == status for line in self.lines for entry in line.row.entries)

    @property
    def fits(self) -> str:
        """The class of the narrowest window that holds the whole table, from an estimate of its width in rem."""
        digits = self.track.decimals + 2
        letters = [max(5, digits, *map(len, (column.head, *column.tail))) for column in self.columns]
        width = 40 + sum(0.56 * count + 1.2 for count in letters)
        if self.both_sides:
            width += 0.56 * digits + 8.8
        return next((f"fits-{limit}" for limit in WINDOWS if width <= limit), "fits-none")


@dataclass(frozen=True, slots=True)
class Place:
    """A team on one board."""

    view: BoardView
    line: Line
    numbered: tuple[tuple[int, Entry], ...]
    """Its entries, latest first, each with its number from the first (1)."""
    picture: Svg | None
    """Its primary score over time; None where there are less than two."""


def _board_view(board: Board, legend: Mapping[str, Column]) -> BoardView:
    track = board.track
    scores = [_shown(track, row.entry, len(board.columns)) for row in board.rows]
    drawn = [values[0] for values in scores] + [row.entry.preliminary[0] for row in board.rows if row.entry]
    highest = max((score for score in drawn if score is not None), default=0.0)
    standing = Counter(row.rank for row in board.rows)
    before = _preliminary_ranks(board) if track.stage == "final" else {}
    lines = tuple(
        _line(row, values, highest, shared=standing[row.rank] > 1, preliminary_rank=before.get(row.team.slug))
        for row, values in zip(board.rows, scores, strict=True)
    )
    return BoardView(board, tuple(legend[name] for name in board.columns), lines, tuple(rules(board)))


def _line(row: Row, scores: Scores, highest: float, *, shared: bool, preliminary_rank: int | None) -> Line:
    return Line(
        row=row,
        rank="" if row.rank is None else f"={row.rank}" if shared else f"{row.rank}",
        scores=scores,
        preliminary_rank=preliminary_rank,
        change=None if row.rank is None or preliminary_rank is None else preliminary_rank - row.rank,
        bar=_percent(scores[0], highest),
        tick=_percent(row.entry.preliminary[0], highest) if row.entry else None,
    )


def _shown(track: Track, entry: Entry | None, columns: int) -> Scores:
    """The scores that the track's board is ranked by."""
    if entry is None:
        return (None,) * columns
    return entry.final if track.stage == "final" else entry.preliminary


def _percent(score: float | None, highest: float) -> float | None:
    if score is None or highest <= 0:
        return None
    return max(100 * score / highest, 0.0)


def _preliminary_ranks(board: Board) -> dict[str, int]:
    """Where each ranked team would stand by preliminary scores, under the track's rule for equal ones."""
    keys = {
        row.team.slug: (-score, row.entry.received.timestamp() if board.track.equal_ranks == "earlier" else 0.0)
        for row in board.rows
        if row.rank is not None and row.entry is not None and (score := row.entry.preliminary[0]) is not None
    }
    order = sorted(keys.values())
    return {slug: 1 + bisect_left(order, key) for slug, key in keys.items()}


def _legend(boards: Iterable[Board]) -> dict[str, Column]:
    """Every measure on any board under its name, in order of appearance."""
    legend: dict[str, Column] = {}
    anchors: set[str] = set()
    for board in boards:
        measures = {str(measure): measure for measure in board.track.all_measures}
        for name in board.columns:
            if name not in legend:
                anchor = _anchor(name, anchors)
                anchors.add(anchor)
                head, *tail = re.split(r"(?=[(@])|(?<=[,])", name)
                legend[name] = Column(measures[name], name, head, tuple(tail), anchor)
    return legend


def _anchor(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return next(
        anchor
        for number in range(len(taken) + 1)
        if (anchor := f"{plain}-v{number + 1}" if number else plain) not in taken
    )


def _kinds(legend: Mapping[str, Column]) -> list[list[Column]]:
    """The measures, those of one kind together."""
    kinds: dict[str, list[Column]] = {}
    for column in legend.values():
        kinds.setdefault(column.measure.kind.name, []).append(column)
    return list(kinds.values())


def _teams(views: Iterable[BoardView]) -> list[tuple[Team, list[Place]]]:
    """Every team with its places, in order of the boards."""
    teams: dict[str, tuple[Team, list[Place]]] = {}
    for view in views:
        for line in view.lines:
            _, places = teams.setdefault(line.row.team.slug, (line.row.team, []))
            places.append(_team_place(view, line))
    return list(teams.values())


def _team_place(view: BoardView, line: Line) -> Place:
    entries = line.row.entries
    numbered = tuple((len(entries) - behind, entry) for behind, entry in enumerate(entries))
    points = [
        Point(entry.received, score, f"Entry {number}: {score:.{view.track.decimals}f}", entry.counts_for_board)
        for number, entry in numbered
        if (score := _shown(view.track, entry, len(view.columns))[0]) is not None
    ]
    side = "Final" if view.is_final else "Preliminary"
    title = f"{side} {view.primary.name} of each scored entry over time"
    picture = timeline(points, title, view.track.decimals) if len(points) > 1 else None
    return Place(view, line, numbered, picture)


# The templates.


class _Folder(FileSystemLoader):
    """Templates in a folder; one that cannot be read is told in words."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise ScorerError(
                f"{self.searchpath[0]}/{template}: cannot be read ({error}); expected UTF-8 text"
            ) from error


def _shipped() -> Path:
    """The folder of the product's own templates: inside the package once installed, beside it in the repository."""
    inside = Path(__file__).parent / "templates"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "templates"


def _environment(loader: ChoiceLoader) -> Environment:
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "counted": counted,
        "number": _number,
        "paragraphs": _paragraphs,
        "stamp": _stamp,
        "iso": _iso,
    }
    return environment


def _number(score: float | None, decimals: int) -> str:
    # A value that was rounded to zero from below would else be printed as -0.0000.
    return NO_SCORE if score is None else f"{score + 0.0:.{decimals}f}"


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _render(environment: Environment, name: str, known: Mapping[str, object]) -> str:
    try:
        return environment.get_template(name).render(known)
    except TemplateSyntaxError as error:
        raise ScorerError(f"{error.filename}:{error.lineno}: {error.message}") from error
    except ScorerError:
        raise
    except Exception as error:
        # What a template does can fail in any way; Jinja2 puts the template's file and line into the traceback.
        places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        templates = [f"{file}:{line}" for file, line in places if file.endswith(".html")]
        if not templates:
            raise
        raise ScorerError(f"{templates[-1]}: {error}") from error


# The folder.


def write(pages: Mapping[str, str], folder: Path) -> list[str]:
    """Bring `folder` to hold exactly these pages, beside whatever else its owner keeps there.

    A file is written only if its bytes change, and then whole or not at all. Files of an earlier render that are no
    longer wanted are removed; the manifest knows them. It names a file before the file is written and until after it is
    gone, so that a render that was killed at any moment is taken up by the next.

    Returns
    -------
    The paths written or removed, sorted.

    Raises
    ------
    ScorerError
        The folder cannot be written, or a file stands there under a page's name that no render wrote.
    """
    texts = {path: text.encode() for path, text in pages.items()}
    try:
        earlier = _read_manifest(folder)
        _refuse_foreign(texts, folder, earlier)
        folder.mkdir(parents=True, exist_ok=True)
        if earlier != set(texts):
            _replace(folder / MANIFEST, _manifest(earlier | set(texts)))
        for path in {MANIFEST, *earlier, *texts}:
            _part(folder / path).unlink(missing_ok=True)
        written = [path for path, text in texts.items() if _replace(folder / path, text)]
        removed = [path for path in earlier - set(texts) if _remove(folder, path)]
        _replace(folder / MANIFEST, _manifest(texts))
    except OSError as error:
        raise ScorerError(f"{error.filename or folder}: cannot write the site ({error.strerror or error})") from error
    return sorted(written + removed)


def _manifest(paths: Iterable[str]) -> bytes:
    return (json.dumps({"written by scorer": sorted(paths)}, indent=1) + "\n").encode()


def _read_manifest(folder: Path) -> set[str]:
    """The paths that earlier renders may have written; a path that leads out of the folder is never among them."""
    manifest = folder / MANIFEST
    try:
        listed = json.loads(manifest.read_bytes())["written by scorer"]
        paths = {str(path) for path in listed}
    except FileNotFoundError:
        return set()
    except (ValueError, LookupError, TypeError) as error:
        raise ScorerError(
            f"{manifest}: is not the list that a render leaves; empty {folder} and render again"
        ) from error
    outside = [path for path in paths if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts]
    if outside:
        raise ScorerError(f"{manifest}: {outside[0]!r} leads out of {folder}; empty the folder and render again")
    return paths


def _refuse_foreign(texts: Mapping[str, bytes], folder: Path, earlier: set[str]) -> None:
    for path, text in texts.items():
        if path not in earlier and (folder / path).exists() and _bytes(folder / path) != text:
            raise ScorerError(
                f"{folder / path}: is not from a render, yet a page has its name; move it away, or render elsewhere"
            )


def _part(path: Path) -> Path:
    return path.with_name(path.name + PART)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, text: bytes) -> bool:
    """Give the file this content, at once; tells whether it had another."""
    if _bytes(path) == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = _part(path)
    try:
        part.write_bytes(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return True


def _remove(folder: Path, path: str) -> bool:
    """Remove a file, and the folder that it leaves empty; tells whether there was one."""
    file = folder / path
    existed = file.exists()
    file.unlink(missing_ok=True)
    if file.parent != folder and file.parent.is_dir() and not any(file.parent.iterdir()):
        file.parent.rmdir()
    return existed
