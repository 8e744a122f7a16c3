"""Verifies a bundle: no byte was changed, and its record has the log that the site publishes.

A bundle is not trusted when it is read: it is a ZIP archive whose last member, manifest.json, has the SHA-256 of the
other members. Members are not compressed, so that equal content gives equal bytes on any machine, and that nothing
grows when it is read.
"""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from io import BufferedReader
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pydantic import ValidationError

from scorer.errors import ScorerError
from scorer.files import chunks_of, digest_of
from scorer.limits import DOTS, SETTINGS_BYTES, is_quickly_parsed
from scorer.record.events import SHA256
from scorer.record.log import ABOUT_RECORD, EVENT_KINDS, LOST, START, Fields, LogLine, chained, encoded, iso, secret_of
from scorer.store.documents import Manifest
from scorer.verification.log import (
    Verified,
    about_record,
    break_of,
    check_about_record,
    compared,
    disorder,
    gap,
    listed,
)
from scorer.wording import counted, quoted

FORMAT = "scorer-bundle"
BUNDLE_VERSION: Final = 1

MANIFEST = "manifest.json"
CHALLENGE = "challenge/"
PUBLIC = "public/"
"""The folder of the documents in a public archive."""
TABLES_FOLDER = "tables/"
SOLUTIONS = "solutions/"
SUBMISSIONS = "submissions/"
INDEX = f"{SUBMISSIONS}index.jsonl"
"""A line for each file of a submissions folder in the bundle: its path and digest, by which the content is a member."""

COMMENT = "sha256:"
COMMENT_BYTES = len(COMMENT) + 64
"""The length of the comment: what it begins with, and the digits of the digest."""

HEADER_BYTES, EXTRA_BYTES = 30, 20
"""Bytes of the header of a member before its name, and of the sizes in 64 bits after it."""

CRC_AT = 14
"""Where a header has the CRC-32 of its member."""

_DEEPEST, LONGEST_FILE_NAME = 100, 255
"""Folders on the way to a file, and bytes of a name. Few systems and programs accept more."""

LONGEST_STRUCTURE = 1_000
"""Bytes that a row may have outside of strings: empty lists take 24 times as much memory as text."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?')

LARGEST_MANIFEST = 64 << 20
LONGEST_LINE = 512 << 20
"""Bytes that a manifest and a line of a table may have, because they are read as a whole."""

NO_BUNDLE = "expected a file that `scorer export` wrote"
DAMAGED = "copy it again from where it came, or export it again"

DIRECTORY = "the directory of the archive, or the SHA-256 at its end"

_COMMENT = re.compile(rb"sha256:([0-9a-f]{64})")

_NAME = re.compile(
    rf"(challenge|public)/.+|tables/[a-z_]{{1,40}}\.jsonl|(solutions|submissions)/[0-9a-f]{{64}}|{re.escape(INDEX)}"
)

_UNREADABLE = (
    *(BadZipFile, NotImplementedError, RuntimeError, struct.error),
    *(ValueError, LookupError, TypeError, AttributeError, EOFError, OSError),
)
"""What reading a damaged archive raises."""


class Bundle:
    """A bundle that is open for reading: whether its bytes are unchanged, its manifest and its members."""

    def __init__(self, path: Path, stream: BufferedReader) -> None:
        """Read the end of the file. Raises ScorerError if it is not the end of a bundle."""
        self.path = path
        self._stream = stream
        self.size = stream.seek(0, os.SEEK_END) - COMMENT_BYTES
        """The bytes of the file before its comment."""
        stream.seek(0)
        begins = stream.read(2) == b"PK"
        stream.seek(max(self.size, 0))
        comment = _COMMENT.fullmatch(stream.read())
        if comment is None:
            end = "its end is not the SHA-256 of a bundle: it is incomplete, changed there, or another archive"
            raise self.error(end if begins else "not a bundle", f"{NO_BUNDLE}; {DAMAGED}" if begins else NO_BUNDLE)
        self._digest = comment[1].decode()
        self.members: Mapping[str, ZipInfo] = {}
        """By name; set by `read_directory`, as is the manifest."""

    def changed_part(self) -> str:
        """Where bytes of the file were changed since it was written; empty if they are the same."""
        self._stream.seek(0)
        if digest_of(chunks_of(self._stream, self.size)) == self._digest:
            return ""
        try:
            return self._damaged_member()
        except _UNREADABLE:
            return DIRECTORY

    def _damaged_member(self) -> str:
        """The first member whose bytes do not have the digest in the manifest, or the directory."""
        with ZipFile(self._stream) as archive:
            members, end = archive.infolist(), archive.start_dir
        position, places = 0, {}
        for info in members:
            start = position + HEADER_BYTES + len(info.filename.encode()) + EXTRA_BYTES
            if info.header_offset != position:
                return DIRECTORY
            places[info.filename] = start, info.file_size
            position = start + info.file_size
        if position != end or places[MANIFEST][1] > LARGEST_MANIFEST:
            return DIRECTORY
        manifest = b"".join(self._chunks(*places[MANIFEST]))
        self._stream.seek(members[-1].header_offset + CRC_AT)
        in_header = int.from_bytes(self._stream.read(4), "little")
        if zlib.crc32(manifest) not in (members[-1].CRC, in_header):
            return MANIFEST
        digests = json.loads(manifest)["members"]
        for name, place in places.items():
            if name != MANIFEST and digest_of(self._chunks(*place)) != digests[name]:
                return name
        return DIRECTORY

    def _chunks(self, start: int, size: int) -> Iterator[bytes]:
        self._stream.seek(start)
        return chunks_of(self._stream, size)

    def read_directory(self) -> Manifest:
        """Read and check the directory and the manifest, which are not trusted. Raises ScorerError."""
        try:
            self._archive = ZipFile(self._stream)
            infos = self._archive.infolist()
        except _UNREADABLE as error:
            raise self.error("its directory cannot be read", NO_BUNDLE) from error
        self.members = {info.filename: info for info in infos}
        if len(self.members) < len(infos):
            names = sorted(info.filename for info in infos)
            twice = next(name for name, following in pairwise(names) if name == following)
            raise self.error(f"has two members that are called {quoted(twice)}", "expected each once")
        if MANIFEST not in self.members:
            raise self.error(f"has no member {MANIFEST}", NO_BUNDLE)
        for info in infos:
            self._check_member(info)
        if sum(info.file_size for info in infos) > self.size:
            raise self.error("its members overlap, so that together they are larger than the file", NO_BUNDLE)
        self.manifest = self._read_manifest()
        if self.members.keys() - {MANIFEST} != self.manifest.members.keys():
            differing = sorted((self.members.keys() - {MANIFEST}) ^ self.manifest.members.keys())
            raise self.error(
                f"its directory and {MANIFEST} differ in {quoted(differing[0])}", "expected the same members"
            )
        settings = f"{CHALLENGE}challenge.toml"
        if settings in self.members and not is_quickly_parsed(self.content(settings).decode("utf-8", "replace")):
            found = f"{settings} has more than {SETTINGS_BYTES:,} characters, or {DOTS} dots in a line"
            raise self.error(found, "expected the settings of a challenge")
        return self.manifest

    def _check_member(self, info: ZipInfo) -> None:
        name = quoted(info.filename)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.filename != MANIFEST and not (_NAME.fullmatch(info.filename) and is_safe(info.filename)):
            raise self.error(f"has a member {name}", "expected names of a bundle, relative, short and without ..")
        if kind not in (0, stat.S_IFREG):
            raise self.error(f"{name} is a link or a special file", "expected regular files")
        if info.compress_type != ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
            raise self.error(f"{name} is compressed or encrypted", "expected members as they are")

    def _read_manifest(self) -> Manifest:
        size = self.members[MANIFEST].file_size
        if size > LARGEST_MANIFEST:
            raise self.error(f"{MANIFEST} has {size:,} bytes", f"expected at most {LARGEST_MANIFEST:,}")
        try:
            document = json.loads(self.content(MANIFEST))
        except (ValueError, RecursionError) as error:
            raise self.error(f"{MANIFEST} is not JSON", NO_BUNDLE) from error
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise self.error(f"{MANIFEST} is not that of a bundle", NO_BUNDLE)
        version, writer = document.get("version"), document.get("scorer")
        if isinstance(version, int) and version > BUNDLE_VERSION:
            raise self.error(
                f"has version {version} of the format, but this scorer reads versions up to {BUNDLE_VERSION}",
                f"install scorer {printed(writer)} or later, which wrote it",
            )
        try:
            return Manifest.model_validate(document)
        except ValidationError as error:
            raise self.error(f"{MANIFEST} lacks a value, or has one of another kind", NO_BUNDLE) from error

    def names(self, folder: str) -> list[str]:
        """The names of the members in a folder, sorted."""
        return sorted(name for name in self.members if name.startswith(folder))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a member, in chunks. Raises ScorerError if it cannot be read."""
        with self._opened(name) as member:
            yield from chunks_of(member)

    def content(self, name: str) -> bytes:
        """The content of a member. Raises ScorerError if it cannot be read."""
        return b"".join(self.chunks(name))

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects in a member with one JSON object a line. Raises ScorerError if it has anything else."""
        number = 0
        with self._opened(name) as member:
            while line := member.readline(LONGEST_LINE):
                number += 1
                try:
                    if len(_STRING.sub(b"", line)) > LONGEST_STRUCTURE:
                        raise ValueError("more than the values of a row")  # noqa: TRY301
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise self.error(f"{name}, line {number:,}: not JSON", NO_BUNDLE) from error
                if not isinstance(row, dict):
                    raise self.error(f"{name}, line {number:,}: not an object", NO_BUNDLE)
                yield row

    @contextmanager
    def _opened(self, name: str) -> Iterator[Any]:
        if name not in self.members:
            raise self.error(f"has no member {name}", NO_BUNDLE)
        try:
            with self._archive.open(self.members[name]) as member:
                yield member
        except _UNREADABLE as error:
            raise self.error(f"{name}: cannot be read", DAMAGED) from error

    def error(self, found: str, remedy: str) -> ScorerError:
        """The error for a bundle that cannot be used."""
        return ScorerError(f"{self.path}: {found}; {remedy}")


def is_safe(path: str) -> bool:
    """Whether a relative path stays in its folder on every system, and can be the name of a member."""
    if re.search(r"[\x00-\x1f\x7f\\:\ud800-\udfff]", path):
        return False
    parts = path.split("/")
    is_short = len(parts) <= _DEEPEST and all(len(part.encode()) <= LONGEST_FILE_NAME for part in parts)
    return is_short and all(part.strip() and part not in (".", "..") for part in parts)


def printed(version: object) -> str:
    """The version of a package in a manifest, for a message."""
    return version if isinstance(version, str) and re.fullmatch(r"[\w.+]{1,30}", version, re.ASCII) else "of its author"


@contextmanager
def opened_bundle(path: Path) -> Iterator[Bundle]:
    """Open a bundle. Raises ScorerError if the file cannot be read, or is not a bundle."""
    try:
        if not path.is_file():
            found = "not a file" if path.exists() else "no such file"
            raise ScorerError(f"{path}: {found}; {NO_BUNDLE}")
        stream = path.open("rb")
    except (OSError, ValueError) as error:
        raise ScorerError(f"{quoted(str(path))}: cannot be read: {getattr(error, 'strerror', error)}") from error
    with stream:
        yield Bundle(path, stream)


SCHEMA_ROWS = f"{TABLES_FOLDER}scorer_schema.jsonl"
EVENT_ROWS = f"{TABLES_FOLDER}event.jsonl"


def verified_members(bundle: Bundle) -> Iterator[Verified]:
    """Verify that no byte was changed, and the digests of members; the directory is read if no byte was."""
    changed = bundle.changed_part()
    yield compared("no byte was changed: the file has the SHA-256 at its end", not changed, f"changed in {changed}")
    if changed:
        return
    manifest = bundle.read_directory()
    count = counted(len(manifest.members), "member")
    members = sorted(manifest.members.items())
    wrong = listed("changed:", (name for name, digest in members if digest_of(bundle.chunks(name)) != digest))
    yield Verified(f"each of the {count} has its SHA-256 in {MANIFEST}", wrong)
    if wrong:
        return
    files = {name: digest for name, digest in manifest.members.items() if name.startswith((SOLUTIONS, SUBMISSIONS))}
    wrong = listed("other bytes in", (name for name in files if name != INDEX and not name.endswith(files[name])))
    yield Verified("each solution and each submission has its SHA-256 as its name", wrong)


def verified_content(bundle: Bundle, public: Sequence[LogLine] | None = None) -> Iterator[Verified]:
    """Verify an open bundle and its record, and compare this with the lines of a public log."""
    for verified in verified_members(bundle):
        yield verified
        if verified.contradiction:
            return
    manifest = bundle.manifest
    events = list(_events(bundle))
    lines = list(chained(_log_key(bundle), events))
    lacking = (
        gap(lines)
        or disorder(lines)
        or ("" if len(lines) == manifest.events else f"found {counted(len(lines), 'event')}")
    )
    yield Verified(f"the record has the events 1 to {manifest.events:,}, without a gap", lacking)
    head = (lines[-1].head if lines else START).hex()
    yield compared(f"the log of the record has the head {manifest.head}", head == manifest.head, f"its head is {head}")
    if bodies := {index: json.loads(body) for index, _, kind, _, body, _ in events if kind in ABOUT_RECORD}:
        yield from about_record(lines, bodies)
    if public is not None:
        yield from _agreement(lines, public)


def _log_key(bundle: Bundle) -> bytes:
    """The secret from which the nonces of the record in a bundle follow."""
    salts = [row.get("salt") for row in bundle.rows(SCHEMA_ROWS)]
    if len(salts) != 1 or not isinstance(salts[0], str) or not SHA256.fullmatch(salts[0]):
        raise bundle.error(f"{SCHEMA_ROWS} does not have the salt of one database", NO_BUNDLE)
    return secret_of(salts[0], "log")


def _events(bundle: Bundle) -> Iterator[Fields]:
    for number, row in enumerate(bundle.rows(EVENT_ROWS), 1):
        try:
            event = _event(row)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise bundle.error(f"{EVENT_ROWS}, line {number:,}: not an event", NO_BUNDLE) from error
        yield event


def _event(row: dict[str, Any]) -> Fields:
    """The fields of an event. Raises ValueError, LookupError or TypeError if it is none."""
    index, track, kind, at, version = row["index"], row["track"], row["kind"], row["at"], row.get("log")
    body = json.loads(row["body"])
    if type(index) is not int or index < 1 or not isinstance(body, dict) or version not in (None, 2):
        raise ValueError(row)
    if kind == LOST and not (body["kind"] in EVENT_KINDS[2] and SHA256.fullmatch(body["leaf"])):
        raise ValueError(row)
    if not isinstance(track, str) or not isinstance(kind, str):
        raise TypeError(row)
    check_about_record(index, kind, body)
    return index, track, kind, None if at is None else iso(datetime.fromisoformat(at)), encoded(body), version


def _agreement(lines: Sequence[LogLine], public: Sequence[LogLine]) -> Iterator[Verified]:
    """Whether a public log is that of a record, as far as both go: either may be the later one."""
    broken = gap(public) or break_of(public)
    yield Verified(f"the heads of the {counted(len(public), 'event')} of the public log follow from its leaves", broken)
    common = min(len(lines), len(public))
    differing = next((mine.index for mine, theirs in zip(lines, public, strict=False) if mine != theirs), None)
    statement = f"the public log has the {counted(common, 'event')} of the record until event {common}"
    yield compared(statement, differing is None, f"event {differing} differs: it is another one in the record")
