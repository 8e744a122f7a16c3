"""The picture of a board for previews of links: its title, its state, and its first teams with their intervals."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any
from unicodedata import combining, normalize

from scorer.board.charts.panel import ChartCache, chart_key
from scorer.board.site.captions import counts, table_caption, track_status
from scorer.board.site.views import BoardView
from scorer.errors import need_libraries
from scorer.settings.tracks import LIGHT, Challenge, softened
from scorer.wording import printable, sentence, shortened

PREVIEW, _ROWS, _LONGEST = "preview.png", 5, 120
"""Its name in the folder of a track, how many teams it shows, and the most characters that it reads of a text."""

_WIDTH, _HEIGHT, _MARGIN, _TOP, _ROW, _NAME, _SCORE, _AXIS, _SCALE = 1200, 630, 60, 232, 62, 130, 590, 640, 2
"""The size, the margin, the first row and its height, the columns, in pixels; it is drawn `_SCALE` times larger."""

_INK, _SOFT, _HAIR, ACCENT_COLOUR = "#1c1b18", "#5d5a53", "#ddd9ce", "#0a4c7a"

LACKING = re.compile("[^ -~\u00b7\u2018\u2019\u201c\u201d\u2026]")
"""A character that the font of Pillow lacks."""

FINE = re.compile(r"(?<=:\d\d):\d\d(?= UTC)|, with [^,]* of grace$")
"""The seconds and the grace in the state of a track, which the picture leaves out."""

DASHES = str.maketrans("\u2010\u2011\u2012\u2013\u2014\u2212\u00a0", "------ ")


def preview(challenge: Challenge, view: BoardView, cache: ChartCache) -> bytes:
    """Draw the picture as PNG, or take it from the cache. Its bytes depend only on what it shows."""
    track, status, address = view.board.track, track_status(view.board), challenge.branding.url
    about = f"{sentence(track.shown_stage)} {view.columns[0].head} · {counts(view.board)[0]}"
    first = f"{_drawable(challenge.name, '')} · {about}".removeprefix(" · ")
    caption, title = table_caption(view.board), _drawable(track.title, track.name)
    state = FINE.sub("", str(status.striptags())) or caption
    texts = first, title, state, "" if view.ranked else caption, address
    words = tuple(LACKING.sub("?", _plain(text)) for text in texts)
    rows = []  # what is written, and places in percent of the axis
    for row in view.ranked[:_ROWS]:
        places = (row.strip.mean, *(row.strip.interval or ())) if row.strip else ()
        score = f"{row.scores[0] or 0.0:.{track.shown_decimals}f}"
        rows.append(((row.rank, _drawable(row.row.name, ""), score), [float(at.rstrip("%")) for at in places]))
    ticks = [([label], [float(at.rstrip("%"))]) for at, label in view.axis.ticks if rows]
    shown = words, rows, ticks, (challenge.branding.accents or (ACCENT_COLOUR,))[0]
    key = chart_key(_drawn, *shown)
    if key not in cache:
        cache[key] = b64encode(_drawn(*shown)).decode()
    return b64decode(cache[key])


def _drawable(text: str, other: str) -> str:
    """The text on one line, without accents; the other one if the font lacks a letter of it."""
    plain = _plain(shortened(printable(text), _LONGEST))
    return other if LACKING.search(plain) else plain


def _plain(text: str) -> str:
    return "".join(filter(lambda letter: not combining(letter), normalize("NFKD", text.translate(DASHES))))


def _drawn(words: Sequence[str], rows: Sequence[Any], ticks: Sequence[Any], accent: str) -> bytes:
    need_libraries("PIL")
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 (only a picture that changed needs it)

    right = _WIDTH - _MARGIN
    image = Image.new("RGB", (_WIDTH * _SCALE, _HEIGHT * _SCALE), LIGHT[0])
    pen = ImageDraw.Draw(image)

    def write(x: float, y: float, text: str, size: int = 30, colour: str = _INK, anchor: str = "lm") -> None:
        font = ImageFont.load_default(size * _SCALE)
        most, whole = ((_SCORE - 130 if x == _NAME else right) - x) * _SCALE, text
        while anchor == "lm" and whole and font.getlength(text) > most:
            whole = whole[:-1]
            text = f"{whole.rstrip()}…"
        pen.text((x * _SCALE, y * _SCALE), text, colour, font, anchor, stroke_width=(anchor, colour) == ("rm", _INK))

    def fill(x: float, y: float, width: float, height: float, colour: str = _INK) -> None:
        pen.rectangle([x * _SCALE, y * _SCALE, (x + width) * _SCALE - 1, (y + height) * _SCALE - 1], colour)

    for (label,), (at,) in ticks:
        fill(_AXIS + 5 * at, _TOP - 14, 1, _HEIGHT - 60 - _TOP, _HAIR)
        write(_AXIS + 5 * at, _HEIGHT - 42, label, 20, _SOFT, "mm")
    for y, height in ((36, 5), (_TOP - 14, 3), (_HEIGHT - 74, 3)):
        fill(_MARGIN, y, right - _MARGIN, height)
    places = ((68, 26, _SOFT), (124, 60, _INK), (186, 24, _SOFT), (_TOP + _ROW, 30, _INK), (_HEIGHT - 42, 22, _SOFT))
    for text, (y, size, colour) in zip(words, places, strict=True):
        write(_MARGIN, y, text, size, colour)
    for number, ((rank, name, score), (mean, *span)) in enumerate(rows):
        middle = _TOP + (number + 0.5) * _ROW
        for x, text, colour, anchor in (
            (_NAME - 20, rank, _SOFT, "rm"),
            (_NAME, name, _INK, "lm"),
            (_SCORE, score, _INK, "rm"),
        ):
            write(x, middle, text, 30, colour, anchor)
        if span:
            fill(_AXIS + 5 * span[0], middle - 6, 5 * span[1], 12, softened(accent, LIGHT[0], 4.0))
        pen.circle(((_AXIS + 5 * mean) * _SCALE, middle * _SCALE), 11 * _SCALE, accent, LIGHT[0], 3 * _SCALE)
    written = BytesIO()
    image.reduce(_SCALE).quantize(64, Image.Quantize.FASTOCTREE).save(written, "PNG")
    return written.getvalue()
