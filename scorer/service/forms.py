"""Forms with a file, whose parts, sizes and speed are bounded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from scorer.organising.deliveries import RESERVE
from scorer.service.refusals import RefusedError, too_large
from scorer.service.uploads import body_blocks, disk_errors, disk_full

FIELDS = 7
"""The fields that a form may have, in addition to its file."""

FIELD_BYTES = 1000
"""The bytes that a field may have."""

OVERHEAD = 64_000
"""The bytes that a form may have in addition to its file."""

_BLOCK = 1 << 16


@asynccontextmanager
async def file_form(request: Request, most: int) -> AsyncIterator[tuple[dict[str, str], UploadFile]]:
    """The fields of a form of type multipart/form-data, and its file of at most `most` bytes, in a temporary file.

    Raises RefusedError, and Starlette's ClientDisconnect if the sender leaves.
    """
    if shutil.disk_usage(tempfile.gettempdir()).free < most + RESERVE:
        raise disk_full()
    parser = MultiPartParser(
        request.headers, _bounded(request, most), max_files=1, max_fields=FIELDS, max_part_size=FIELD_BYTES
    )
    try:
        with disk_errors():
            form = await parser.parse()
    except MultiPartException as error:
        raise RefusedError("invalid", f"the form cannot be read: {error.message}") from error
    except (LookupError, ValueError) as error:  # no boundary, or bytes that are no text
        raise RefusedError("invalid", "the form cannot be read") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.size:
            raise RefusedError("invalid", "the form has no file, or an empty one; choose a file")
        yield {name: value for name, value in form.items() if isinstance(value, str)}, file
    finally:
        for part in parser._files_to_close_on_error:
            part.close()


async def _bounded(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    size = 0
    async for block in body_blocks(request, Path(tempfile.gettempdir())):
        size += len(block)
        if size > most + OVERHEAD:
            raise too_large(most)
        yield block


async def blocks_of(file: UploadFile) -> AsyncIterator[bytes]:
    """The bytes of the file of a form."""
    while block := await file.read(_BLOCK):
        yield block
