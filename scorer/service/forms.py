"""Forms with a file: the file goes to the disk block by block, and what is around it is bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from scorer.service.refusals import RefusedError, too_large

FIELD_BYTES = 1000
"""The bytes that a field may have that is not the file."""

PARTS = 8
"""The parts that a form may have."""

OVERHEAD = 64_000
"""The bytes that a form may have in addition to its file."""


@dataclass(slots=True)
class FileForm:
    """A form of type multipart/form-data with at most one file, which comes after the fields that concern it."""

    content_type: str
    fields: dict[str, str] = field(default_factory=dict)
    file_name: str | None = None
    """As the sender calls the file; None as long as there was no file."""
    _header: bytearray = field(default_factory=bytearray)
    _value: bytearray = field(default_factory=bytearray)
    _name: str = ""
    _is_file: bool = False
    _parts: int = 0
    _is_complete: bool = False
    _data: bytearray = field(default_factory=bytearray)
    _file: bytearray = field(default_factory=bytearray)

    async def file(self, blocks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
        """The bytes of the file, given those of the form. Afterwards all fields are known.

        Raises RefusedError, also if the form is longer than a form with a file of `most` bytes.
        """
        size = 0
        kind, options = parse_options_header(self.content_type)
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise _invalid("the form has no type multipart/form-data with a boundary")
        try:
            parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._on_header,
                    "on_header_value": self._on_value,
                    "on_header_end": self._on_header_end,
                    "on_part_data": self._on_data,
                    "on_part_end": self._on_part_end,
                    "on_end": self._on_end,
                },
            )
            async for block in blocks:
                size += len(block)
                if size > most + OVERHEAD:
                    raise too_large(most)
                parser.write(block)
                if self._file:
                    yield bytes(self._file)
                    self._file.clear()
            parser.finalize()
        except FormParserError as error:
            raise _invalid("the form is not multipart/form-data") from error
        if not self._is_complete:
            raise _invalid("the form is incomplete")

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > PARTS:
            raise _invalid(f"the form has more than {PARTS} parts")
        self._name, self._is_file = "", False

    def _on_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._value))
            self._name = options.get(b"name", b"").decode("utf-8", "replace")
            if b"filename" in options:
                if self.file_name is not None:
                    raise _invalid("the form has several files; send one")
                self.file_name, self._is_file = options[b"filename"].decode("utf-8", "replace"), True
        self._header.clear()
        self._value.clear()

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self._file += data[start:end]
            return
        self._data += data[start:end]
        if len(self._data) > FIELD_BYTES:
            raise _invalid(f"a field of the form has more than {FIELD_BYTES:,} bytes")

    def _on_part_end(self) -> None:
        if not self._is_file:
            self.fields[self._name] = self._data.decode("utf-8", "replace")
            self._data.clear()

    def _on_end(self) -> None:
        self._is_complete = True


def _invalid(text: str) -> RefusedError:
    return RefusedError("invalid", text)
