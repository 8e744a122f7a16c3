"""What the overview paper of a challenge needs: LaTeX tables and texts, figures, citations, and an archive of data."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from scorer.board.board import Board, Row, rules
from scorer.board.reports.leaderboard import certainty_values, cff, to_bibtex, to_csv, to_json
from scorer.board.site.figures import analysis_figures, board_figures
from scorer.board.site.pages import archived
from scorer.errors import ChallengeError
from scorer.live.names import as_public
from scorer.live.now import published_log
from scorer.measures import Measure
from scorer.options import LEVEL, RESAMPLES, SEED
from scorer.organising.bundles import submitted_files
from scorer.organising.public import check_public
from scorer.organising.render import boards
from scorer.record.log import LogLine
from scorer.rules.metadata import field_text
from scorer.rules.tables import sentences
from scorer.settings.tracks import Challenge
from scorer.store.snapshot import Cache, Snapshot
from scorer.store.store import Store
from scorer.verification.bundle import SUBMISSIONS
from scorer.wording import (
    Cell,
    CellValue,
    Table,
    counted,
    csv_table,
    escape_latex,
    iso_time,
    latex_table,
    printable,
    table_of,
    utc_time,
)


def paper_files(view: Snapshot, challenge: Challenge, store: Store) -> dict[str, bytes]:
    """The files by their relative paths, with what visitors may see of a challenge. Raises StoreError as `boards`."""
    head, cache = published_log(view, challenge.tracks).head, view.cache(store.sidecar(challenge.root))
    shown = boards(as_public(view, challenge.tracks), challenge.tracks, cache)
    about = escape_latex(_from(head))
    parts = {}
    for board in shown:
        name = board.track.name
        caption = f"{escape_latex(printable(board.track.title))}: {_caption(board)} {about}"
        parts[f"table-{name}.tex"] = _floating(_results(board), caption, f"tab:{name}")
        if len(board.columns) > 1:
            parts[f"scores-{name}.tex"] = _floating(_scores(board), caption, f"tab:scores-{name}")
        counting = "The entry that counts" if board.track.rows == "team" else "The entries that count"
        caption = f"{counting} of each team. {about}"
        parts[f"systems-{name}.tex"] = _floating(_systems(board), caption, f"tab:systems-{name}")
    measures = {str(measure): measure for board in shown for measure in board.track.all_measures}
    parts["measures.tex"] = "\n".join(_definitions([*measures.values()]))
    parts["statistics.tex"] = "\n\n".join(_statistics(shown))
    texts = {**parts, "overview.tex": _overview(challenge, parts, about), **_figures(shown, cache)}
    texts |= {f"{board.track.name}.bib": to_bibtex(challenge, board) for board in shown}
    updated = max((board.updated for board in shown if board.updated), default=None)
    texts["CITATION.cff"] = cff(challenge, f"Results of {challenge.name}", _from(head), updated, challenge.branding.url)
    texts["zenodo.json"] = _zenodo(challenge, updated, head)
    data = archived(_data(shown, head, _runs(view, challenge, store, shown)))
    return {name: text.encode() for name, text in texts.items()} | {"data.zip": data}


def _from(head: LogLine | None) -> str:
    """Where numbers come from: ``Record up to event 37, head 5f0c...``."""
    return "No event is recorded." if head is None else f"Record up to event {head.index}, head {head.head.hex()}."


def _caption(board: Board) -> str:
    track, queries = board.track, board.scored_queries
    return escape_latex(f"{track.shown_stage} {board.columns[0]} over {counted(queries, 'query', 'queries')}.")


def _floating(table: Table, caption: str, label: str) -> str:
    lines = ("\\begin{table}", f"\\caption{{{caption}}}", f"\\label{{{label}}}", "\\centering\\footnotesize")
    return "\n".join([*lines, latex_table(table), "\\end{table}", ""])


def _marked(row: Row) -> str:
    """The name of a row, with why it has no rank."""
    mark = "baseline" if row.baseline else row.team.status if row.team.is_excluded else ""
    return f"{row.name} ({mark})" if mark else row.name


def _results(board: Board) -> Table:
    """Rank, score, interval, range and tier of each row."""
    decimals = board.track.shown_decimals
    rows: list[list[CellValue | Cell]] = []
    for row in board.rows:
        low, high, *ranks, tier, apart = certainty_values(board, row).values()
        ends = (Cell(each, decimals) for each in (board.shown_scores(row.entry)[0], low, high))
        rows.append([row.rank, _marked(row), *ends, *ranks, tier, "yes" if apart else ""])
    heads = ("rank", "team", board.track.primary_measure.kind.name, "from", "to", "best", "worst", "tier", "separable")
    return table_of(heads, rows, ("team", "tier", "separable"))


def _scores(board: Board) -> Table:
    """The scores on all measures."""
    decimals = board.track.shown_decimals
    rows: list[list[CellValue | Cell]] = [
        [_marked(row), *(Cell(score, decimals) for score in board.shown_scores(row.entry))]
        for row in board.rows
        if row.entry is not None
    ]
    names = Counter(measure.kind.name for measure in board.track.all_measures)
    heads = [
        measure.kind.name if names[measure.kind.name] == 1 else str(measure) for measure in board.track.all_measures
    ]
    return table_of(("team", *heads), rows, ("team",))


def _systems(board: Board) -> Table:
    fields = board.metadata_fields
    rows: list[list[CellValue]] = [
        [
            _marked(row),
            len(row.present_entries),
            entry.index,
            iso_time(entry.received),
            "" if "names" in board.track.hidden else entry.digest[:12],
            *(field_text(entry.metadata.get(each.name)) for each in fields),
        ]
        for row in board.rows
        if (entry := row.entry) is not None
    ]
    texts = ("received", "SHA-256", *(f"{each.title} ({each.unit})" if each.unit else each.title for each in fields))
    return table_of(("team", "entries", "event", *texts), rows, ("team", *texts))


def _definitions(measures: Sequence[Measure]) -> Iterator[str]:
    """Each kind of measure with its formula and its source."""
    yield "\\begin{description}"
    for kind in {measure.kind.name: measure.kind for measure in measures}.values():
        named = ", ".join(str(measure) for measure in measures if measure.kind is kind)
        title, source = escape_latex(kind.title), escape_latex(kind.source)
        yield f"\\item[{escape_latex(named)}] {title}: {kind.latex} Source: {source}."
    yield "\\end{description}"


def _statistics(shown: Sequence[Board]) -> Iterator[str]:
    if any(board.primary_certainty for board in shown):
        corrected = ["corrected"] if any(board.checked_queries for board in shown) else []
        values = {"level": round(100 * (1 - LEVEL)), "resamples": f"{RESAMPLES:,}", "seed": SEED}
        yield " ".join(map(escape_latex, sentences("paper", "certain", *corrected, **values)))
    for board in shown:
        yield f"\\paragraph{{{escape_latex(printable(board.track.title))}}} {escape_latex(' '.join(rules(board)))}"


def _overview(challenge: Challenge, parts: Mapping[str, str], about: str) -> str:
    of_tracks = ("table-", "scores-", "systems-")
    sections = [f"\\input{{{name.removesuffix('.tex')}}}" for name in parts if name.startswith(of_tracks)]
    values = {"title": escape_latex(printable(challenge.name)), "about": about, "sections": "\n".join(sections)}
    text = Path(__file__).with_name("overview.tex").read_text("utf-8")
    return re.sub("<([a-z]+)>", lambda match: values[match[1]], text)


def _figures(shown: Sequence[Board], cache: Cache) -> dict[str, str]:
    """The charts as SVG, and their captions."""
    files: dict[str, str] = {}
    for board in shown:
        for number, figure in enumerate((*board_figures(board, cache), *analysis_figures(board, cache)), 1):
            name = f"figures/{board.track.name}-{number}"
            files |= {f"{name}.svg": figure.svg.text, f"{name}.txt": f"{figure.caption}\n"}
    return files


def _zenodo(challenge: Challenge, updated: datetime | None, head: LogLine | None) -> str:
    """Metadata of a deposit as the interface of Zenodo takes it: a JSON object with the key "metadata"."""
    metadata: dict[str, object] = {
        "title": f"Results of {challenge.name}",
        "upload_type": "dataset",
        "description": f"{' '.join(challenge.description.split()) or challenge.name} {_from(head)}",
        "creators": [{"name": f"The organisers of {challenge.name}"}],
    }
    if updated is not None:
        metadata["publication_date"] = utc_time(updated, "day")
    if challenge.branding.url:
        metadata["related_identifiers"] = [{"identifier": challenge.branding.url, "relation": "isSupplementTo"}]
    return json.dumps({"metadata": metadata}, ensure_ascii=False, indent=1) + "\n"


def _runs(view: Snapshot, challenge: Challenge, store: Store, shown: Sequence[Board]) -> dict[str, bytes]:
    """The submissions that count, if the public archive has them."""
    if not (challenge.licence and challenge.publish_submissions):
        return {}
    try:
        check_public(view, challenge)
    except ChallengeError:
        return {}
    archive, kept = store.archive(challenge.root), store.kept_submissions(challenge.root)
    submitted, runs = submitted_files(view, challenge, archive, kept, everything=True), {}
    for board in shown:
        for row in board.rows:
            name = f"{SUBMISSIONS}{row.entry.digest}" if row.entry else ""
            if name in submitted:
                runs[f"{board.track.name}/runs/{row.slug}"] = b"".join(submitted[name]())
    return runs


def _data(shown: Sequence[Board], head: LogLine | None, runs: Mapping[str, bytes]) -> dict[str, str | bytes]:
    """The boards, the scores of queries as far as they are public, the runs, and the SHA-256 of each file."""
    files: dict[str, str | bytes] = dict(runs)
    for board in shown:
        name = board.track.name
        files |= {f"{name}/leaderboard.json": to_json(board, head), f"{name}/leaderboard.csv": to_csv(board)}
        if board.query_scores is not None:
            scores = board.query_scores
            ids = [printable(board.query_ids[query]) for query in scores.queries]
            rows = [[board.rows[row].name, *values] for row, values in scores.of_rows.items()]
            files[f"{name}/queries.csv"] = csv_table(table_of(["team", *ids], rows, ("team",), all_digits=True)) + "\n"
    contents = {name: text.encode() if isinstance(text, str) else text for name, text in sorted(files.items())}
    sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    return files | {"SHA256SUMS": "".join(sums)}
