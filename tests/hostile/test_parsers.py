"""Parsers: each place where bytes that somebody else chose reach a parser, and what bounds it there.

The places are derived from the source. A call that is not in the table fails the test until its bound is named.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

import scorer
from scorer.limits import Limits
from scorer.lists.reading.blocks import FIRST_BYTES, LAYERS, SAMPLE_BYTES
from scorer.service.uploads import FIELD_BYTES, FIELDS, SMALL_BODY
from scorer.settings.metadata import MOST_BRACKETS, MOST_BYTES, MOST_DEPTH, MOST_NODES

ROOT = Path(scorer.__file__).parent

PARSERS = (
    *("json.*load*", "json.JSONDecoder", "yaml.*", "tomllib.load*", "tomlkit.parse", "tomlkit.load*", "pickle.load*"),
    *("csv.reader", "csv.DictReader", "pyarrow.csv.*", "pyarrow.json.read*", "pyarrow.parquet.*", "pyarrow.ipc.*"),
    *("zipfile.ZipFile", "tarfile.*", "gzip.*", "bz2.*", "lzma.LZMA*", "lzma.open", "lzma.decompress"),
    *("zlib.decompress*", "*.CompressedInputStream", "*.from_stream", "base64.b64decode", "*.frombuffer", "*.fromfile"),
    *("urllib.parse.urlsplit", "urllib.parse.urlparse", "urllib.parse.parse_qs*", "urllib.parse.unquote*"),
    *("*.fromisoformat", "*.strptime", "uuid.UUID", "*.MultiPartParser", "*.query_params", "*.cookies", "request.form"),
    *("*.fromstring", "*.model_validate_json", "ast.literal_eval", "email.*", "html.parser.*", "http.cookies.*"),
    *("scorer.lists.reading.blocks.open_bytes", "scorer.lists.reading.blocks.beginning", "*.why_unreadable"),
    *(
        "scorer.settings.metadata.read",
        "scorer.settings.metadata.read_all",
        "*.of_head",
        "scorer.settings.metadata.checked",
    ),
)
"""The parsers, by their full names: of libraries, and the functions here that read files of teams."""

CONSTANTS = {
    "yaml.SafeLoader",
    "yaml.YAMLError",
    "gzip.BadGzipFile",
    "gzip.compress",
    "pyarrow.parquet.ParquetWriter",
    "lzma.LZMAError",
} | {f"yaml.{kind}" for kind in ("NodeEvent", "AliasEvent", "CollectionStartEvent", "CollectionEndEvent")}
"""What the names match that parses nothing."""

RECORD = "values of the record, or files next to it: written by this program, and checksummed in the database"
OWN = "files and texts of the organiser or of this package"
CHILD = "[limits], in a child process with limits on time and memory; in the service only a beginning"
BEGINNING = f"{SAMPLE_BYTES:,} bytes, of at most {FIRST_BYTES:,} of the file and of each of {LAYERS} layers"
YAML = f"{MOST_BYTES:,} bytes, {MOST_BRACKETS} brackets, {MOST_NODES:,} nodes and {MOST_DEPTH} levels, without aliases"
HEADERS = "16,384 bytes of the head of a request"
BODY = f"{SMALL_BODY:,} bytes of a body"
ANSWER = "an answer of a server, in the process of who asks: 10 MB, 1 MB of settings"
DOCUMENT = "a document that somebody verifies or imports, in the process of who does: limits of bundles"

PLACES: dict[tuple[str, str], str] = {
    # What teams send to the service
    ("service/app.py", "json.loads"): BODY,
    ("service/app.py", "request.query_params"): HEADERS,
    ("service/app.py", "uuid.UUID"): HEADERS,
    ("service/app.py", "scorer.settings.metadata.read"): YAML,
    ("service/app.py", "scorer.settings.metadata.read_all"): f"{YAML}, for each document in {HEADERS}",
    ("service/state.py", "request.cookies"): HEADERS,
    ("service/state.py", "json.loads"): RECORD,
    ("service/submitting.py", "request.query_params"): HEADERS,
    ("service/submitting.py", "urllib.parse.parse_qs"): f"{BODY}, 100 fields",
    ("service/submitting.py", "scorer.settings.metadata.of_head"): f"{BEGINNING}; {YAML}",
    ("service/submitting.py", "scorer.settings.metadata.checked"): f"{BODY}, or the values of {BEGINNING}",
    ("service/submitting.py", "zipfile.ZipFile"): "written only",
    ("service/uploads.py", "base64.b64decode"): HEADERS,
    ("service/uploads.py", "starlette.formparsers.MultiPartParser"): (
        f"limits.file_mb, one file, {FIELDS} fields of {FIELD_BYTES:,} bytes, 64,000 bytes for all else"
    ),
    ("service/accepting.py", "scorer.lists.detection.why_unreadable"): BEGINNING,
    ("service/accepting.py", "scorer.settings.metadata.of_head"): f"{BEGINNING}; {YAML}",
    ("service/accepting.py", "scorer.settings.metadata.checked"): "the values of a document of metadata",
    ("service/accepting.py", "json.loads"): RECORD,
    ("service/accepting.py", "uuid.UUID"): OWN,
    ("service/documents.py", "json.loads"): "the board of the site, which this program wrote",
    ("cli/participate.py", "json.loads"): ANSWER,
    # What teams put into folders
    ("organising/files.py", "scorer.settings.metadata.read"): YAML,
    ("organising/files.py", "scorer.settings.metadata.of_head"): f"{BEGINNING}; {YAML}",
    ("organising/files.py", "scorer.settings.metadata.checked"): "the values of a document of metadata",
    ("organising/picks.py", "scorer.settings.metadata.checked"): "the values of a document of metadata",
    ("settings/metadata.py", "yaml.parse"): YAML,
    ("settings/metadata.py", "yaml.compose"): YAML,
    ("settings/metadata.py", "scorer.lists.reading.blocks.beginning"): BEGINNING,
    ("lists/detection.py", "scorer.lists.reading.blocks.beginning"): BEGINNING,
    ("lists/*.py", "scorer.lists.reading.blocks.open_bytes"): CHILD,
    ("lists/*.py", "json.JSONDecoder"): CHILD,
    ("lists/*.py", "csv.reader"): f"a line of a file, limits.line_mb; {CHILD}",
    ("lists/*.py", "pyarrow.csv.*"): CHILD,
    ("lists/*.py", "pyarrow.json.read*"): CHILD,
    ("lists/*.py", "pyarrow.parquet.*"): CHILD,
    ("lists/reading/blocks.py", "*File"): CHILD,
    ("lists/reading/blocks.py", "pyarrow.CompressedInputStream"): CHILD,
    ("lists/reading/memory.py", "*.from_stream"): "tables of who calls the library",
    ("lists/*.py", "numpy.frombuffer"): f"no structure; {CHILD}",
    ("lists/reading/blocks.py", "pickle.load"): "what the parent of the process wrote",
    ("rules/tables.py", "urllib.parse.urlsplit"): "1,000 characters",
    # What participants give to their own commands
    ("cli/participate.py", "urllib.parse.urlsplit"): OWN,
    ("cli/participate.py", "uuid.UUID"): OWN,
    ("cli/participate.py", "scorer.settings.metadata.*"): f"{YAML}; own files",
    ("cli/evaluate.py", "scorer.lists.reading.blocks.open_bytes"): OWN,
    ("scoring/analysis/tables.py", "scorer.lists.reading.blocks.open_bytes"): OWN,
    ("cli/parameters.py", "datetime.datetime.fromisoformat"): OWN,
    ("settings/published.py", "tomllib.loads"): f"{OWN}; {ANSWER}",
    ("settings/loading.py", "tom*"): OWN,
    # Published documents
    ("verification/*.py", "*"): DOCUMENT,
    ("organising/public.py", "tomllib.loads"): f"{OWN}; {DOCUMENT}",
    ("organising/derivation.py", "*"): DOCUMENT,
    ("organising/rules.py", "json.loads"): "the settings of a track, which this program wrote as JSON",
    ("organising/bundles.py", "zipfile.ZipFile"): "written only",
    # What this program and the organiser wrote
    ("store/*.py", "*"): f"{RECORD}; of a bundle: {DOCUMENT}",
    ("record/*.py", "*"): f"{RECORD}; of a bundle: {DOCUMENT}",
    ("live/*.py", "*"): RECORD,
    ("scoring/outcomes.py", "*"): f"{RECORD}; `most_expanded` of a bundle",
    ("scoring/analysis/kept.py", "numpy.frombuffer"): RECORD,
    ("scoring/statistics/rankings.py", "numpy.frombuffer"): "flags of queries, as bytes that are the key of a cache",
    ("organising/job.py", "json.loads"): RECORD,
    ("organising/teams.py", "tomllib.loads"): OWN,
    ("organising/teams.py", "json.loads"): RECORD,
    ("organising/teams.py", "csv.reader"): f"{OWN}, 10,000,000 bytes",
    ("organising/render.py", "json.loads"): RECORD,
    ("organising/doctor.py", "datetime.datetime.fromisoformat"): OWN,
    ("board/*.py", "*"): f"{OWN}; {RECORD}",
    ("runs/fuse.py", "*File"): "written only",
    ("files/__init__.py", "pyarrow.CompressedInputStream"): f"{RECORD}: the bytes of what was scored, of a known size",
    ("lists/slices.py", "csv.reader"): OWN,
    ("rules/phases.py", "datetime.datetime.fromisoformat"): OWN,
    ("rules/quota.py", "datetime.date.fromisoformat"): "a date that this program wrote",
    ("wording.py", "tomllib.loads"): OWN,
}
"""What bounds the bytes, by the module and the parser; both may be patterns."""


@cache
def parsers_in(path: Path) -> frozenset[str]:
    """The full names of the parsers that a module uses."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                names[each.asname or each.name.partition(".")[0]] = (
                    each.name if each.asname else each.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return frozenset(name for node in ast.walk(tree) for name in _named(node, names))


def _named(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not parts and not (isinstance(node, ast.Name) and node.id in names):
        return
    first = names.get(node.id, node.id) if isinstance(node, ast.Name) else "?"
    name = ".".join([first, *reversed(parts)])
    if name not in CONSTANTS and any(fnmatchcase(name, parser) for parser in PARSERS):
        yield name


def places() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The rows of the table for each place."""
    used = {(path.relative_to(ROOT).as_posix(), name) for path in ROOT.rglob("*.py") for name in parsers_in(path)}
    return {
        (file, name): [
            row
            for row in PLACES
            if fnmatchcase(file, row[0]) and (fnmatchcase(name, row[1]) or name.startswith(f"{row[1]}."))
        ]
        for file, name in used
    }


def test_each_place_has_a_bound() -> None:
    """Each use of a parser is in the table, and each row of the table is a use."""
    found = places()
    assert [place for place, rows in found.items() if not rows] == []
    assert [row for row in PLACES if row not in {row for rows in found.values() for row in rows}] == []


@pytest.mark.parametrize("name", ["yaml.load", "pyarrow.parquet.read_table", "tarfile.open", "pickle.loads"])
def test_a_new_place_is_found(name: str, tmp_path: Path) -> None:
    """Also in a function, and by another name."""
    room, _, function = name.rpartition(".")
    (tmp_path / "new.py").write_text(f"def read(stream):\n    from {room} import {function} as get\n    get(stream)\n")
    assert parsers_in(tmp_path / "new.py") == {name}


def test_the_bounds_are_small() -> None:
    """What processes without limits parse takes a moment, by any bound."""
    assert (MOST_BYTES, MOST_BRACKETS, MOST_NODES, MOST_DEPTH) <= (1 << 14, 100, 1_000, 8)
    assert max(SMALL_BODY, SAMPLE_BYTES) <= 1 << 16
    assert FIRST_BYTES <= 1 << 19
    assert Limits().nesting <= 20
