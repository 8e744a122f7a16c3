"""What teams state about their submissions: files of metadata, and their values by the fields of challenge.toml.

Anybody may have written a file. So its size, its brackets, its depth and its values are bounded, it has no alias, and
no tag in it has an effect.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scorer.errors import MOST_SHOWN, ScorerError
from scorer.limits import Limits
from scorer.rules.metadata import MetadataField, Value
from scorer.rules.teams import line_text, url_text
from scorer.wording import one_line, quoted, suggestion

MOST_BYTES = 16_384
"""Of a file of metadata, and of those at the head of a run."""

MOST_BRACKETS = 100
"""So many `[` and `{` may be in it, also within texts: at each token, the parser of YAML looks at all that are open."""

MOST_NODES, MOST_DEPTH = 1_000, 8
"""Keys, values, lists and mappings, and how deep they may be within each other."""

_START, _END = b"# ir_metadata.start", b"# ir_metadata.end"
"""The comments around the ir-metadata at the head of a run."""

OF_IR_METADATA = frozenset({"schema version", "schema_version", "tag"})
"""Keys of ir-metadata with a text, which need not be fields."""

_NUMBER = re.compile(r"[-+]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][-+]?\d{1,3})?", re.ASCII)


class MetadataError(ScorerError):
    """Metadata are invalid; the message has a line for each error, with the line of the file."""

    def __init__(self, text: str, fields: Mapping[str, str] | None = None) -> None:
        """`fields` has the errors by the names of fields; "" has those that no value of a field can mend."""
        super().__init__(text)
        self.fields = {"": text} if fields is None else fields

    @property
    def reason(self) -> str:
        """Why a file is not accepted, on one line."""
        return f"the metadata are invalid: {'; '.join(str(self).splitlines())}"


class Given(NamedTuple):
    """A value as it was written."""

    text: str | None
    """None: a list."""
    line: int = 0
    """From 1; 0: it is in no file."""


Stated = Mapping[str, Given]
"""The values by the keys on the way to each, with dots between them."""


def head_of_run(content: bytes) -> bytes:
    """The ir-metadata in the comments at the head of a run, with its lines in their places; empty without any."""
    lines: list[bytes] = []
    is_inside = False
    for line in map(bytes.strip, content.split(b"\n")):
        if line.startswith(_END) and is_inside:
            return b"\n".join(lines)
        if not line.startswith(b"#"):
            break
        lines.append(line[1:].removeprefix(b" ") if is_inside else b"")
        is_inside |= line.startswith(_START)
    return b""


def of_head(path: str | os.PathLike[str], limits: Limits) -> Stated:
    """What the comments at the head of a run state; nothing if it cannot be read. Raises MetadataError."""
    from scorer.lists.reading.blocks import UnreadableError, beginning  # noqa: PLC0415 (Arrow is slow to load)

    try:
        return read(head_of_run(beginning(path, limits)))
    except UnreadableError:
        return {}


def read(content: bytes) -> Stated:
    """What a file of metadata states, in YAML or JSON. Raises MetadataError."""
    import yaml  # noqa: PLC0415 (only challenges with metadata need it)

    if len(content) > MOST_BYTES:
        raise MetadataError(f"the metadata have more than {MOST_BYTES:,} bytes")
    if content.count(b"[") + content.count(b"{") > MOST_BRACKETS:
        raise MetadataError(f"the metadata have more than {MOST_BRACKETS} brackets [ and {{; write fewer lists")
    try:
        _check_nodes(content)
        root = yaml.compose(content, yaml.SafeLoader)
        return {} if root is None else dict(_flat(root))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark, text = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        where = f"line {mark.line + 1}: " if mark else ""
        raise MetadataError(f"{where}the metadata are no YAML with keys and values: {one_line(text)}") from None


def _check_nodes(content: bytes) -> None:
    """Raise at the first event by which a document exceeds a bound or has an alias; no further one is parsed."""
    import yaml  # noqa: PLC0415

    nodes = depth = 0
    for event in yaml.parse(content, yaml.SafeLoader):
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise MetadataError("the metadata have an alias; write the value itself")
        if nodes > MOST_NODES or depth > MOST_DEPTH:
            most = f"{MOST_NODES:,} keys and values, or {MOST_DEPTH} levels"
            raise MetadataError(f"line {event.start_mark.line + 1}: the metadata have more than {most}")


def read_all(documents: Iterable[str]) -> Stated:
    """What several documents state; a later one has priority. Raises MetadataError."""
    return {name: given for text in documents for name, given in read(text.encode("utf-8", "replace")).items()}


def _flat(node: Any, path: str = "") -> Iterator[tuple[str, Given]]:
    if node.id != "mapping":
        raise ValueError(f"found a {node.id}")
    lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = f"{path}{key.value}", key.start_mark.line + 1
        if name in lines:
            raise MetadataError(f"line {line}: {quoted(name)} is also in line {lines[name]}; leave one of them")
        lines[name] = line
        if value.id == "mapping":
            yield from _flat(value, f"{name}.")
        elif not value.tag.endswith(":null"):
            # JSON may have a character as two escapes.
            text = str(value.value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            yield name, Given(text if value.id == "scalar" else None, value.start_mark.line + 1)


def checked(fields: Sequence[MetadataField], stated: Stated) -> dict[str, Value]:
    """The values of the fields, in their order. Raises MetadataError with all errors.

    A key on the top level is the name of a field. Of other keys, those are read that a field names as `ir_metadata`.
    """
    unknown: list[str] = []
    wrong: dict[str, str] = {}
    values: dict[str, Value] = {}
    names = [field.name for field in fields]
    expected = {*names, *(field.ir_metadata for field in fields), *OF_IR_METADATA}
    for name, (text, line) in stated.items():
        if name not in expected and "." not in name and text is not None and len(unknown) < MOST_SHOWN:
            unknown.append(f"{_at(line)}{quoted(name)}: unknown{suggestion(name, names)}; known: {', '.join(names)}")
    for field in fields:
        text, line = given_of(field, stated)
        if text is not None and not text.strip():
            if field.required:
                wrong[field.name] = f"{field.name}: is missing; expected {field.allowed}"
            continue
        try:
            values[field.name] = _value(field, text)
        except ValueError as error:
            found = ("a list" if text is None else quoted(text)) + (f", which {error}" if str(error) else "")
            wrong[field.name] = one_line(f"{_at(line)}{field.name}: found {found}; allowed: {field.allowed}")
    if unknown or wrong:
        errors = [*map(one_line, unknown), *wrong.values()]
        raise MetadataError("\n".join(errors), wrong | ({"": "; ".join(errors[: len(unknown)])} if unknown else {}))
    return values


def given_of(field: MetadataField, stated: Stated) -> Given:
    """What is stated for a field: by its name, or else by its path in ir-metadata."""
    return stated.get(field.name) or stated.get(field.ir_metadata) or Given("")


def _at(line: int) -> str:
    return f"line {line}: " if line else ""


def _value(field: MetadataField, text: str | None) -> Value:
    """The value of a field. Raises ValueError."""
    if text is None:
        raise ValueError
    text = text.strip()
    if field.type == "number":
        if not _NUMBER.fullmatch(text) or not abs(number := float(text)) < 1e15:
            raise ValueError
        return int(number) if number.is_integer() else number
    if field.type in ("choice", "yes-no"):
        choice = field.choice_of(text)
        if choice is None:
            raise ValueError
        return choice
    return url_text(text) if field.type == "url" else line_text(text)
