"""Refusals: one tagged reason for each request that is not carried out."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal

Code = Literal[
    "unauthorised",
    "cross-site",
    "closed",
    "excluded",
    "of-a-solution",
    "not-found",
    "invalid",
    "too-slow",
    "conflict",
    "too-late",
    "too-large",
    "unsupported",
    "quota",
    "too-many-files",
    "too-fast",
    "unavailable",
    "disk-full",
]

STATUS: Mapping[Code, HTTPStatus] = {
    "unauthorised": HTTPStatus.UNAUTHORIZED,
    "cross-site": HTTPStatus.FORBIDDEN,
    "closed": HTTPStatus.FORBIDDEN,
    "excluded": HTTPStatus.FORBIDDEN,
    "of-a-solution": HTTPStatus.FORBIDDEN,
    "not-found": HTTPStatus.NOT_FOUND,
    "invalid": HTTPStatus.BAD_REQUEST,
    "too-slow": HTTPStatus.REQUEST_TIMEOUT,
    "conflict": HTTPStatus.CONFLICT,
    "too-late": HTTPStatus.FORBIDDEN,
    "too-large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unsupported": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "quota": HTTPStatus.TOO_MANY_REQUESTS,
    "too-many-files": HTTPStatus.TOO_MANY_REQUESTS,
    "too-fast": HTTPStatus.TOO_MANY_REQUESTS,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "disk-full": HTTPStatus.INSUFFICIENT_STORAGE,
}
"""The status of the answer to a request that is refused for this reason."""


class RefusedError(Exception):
    """A request is not carried out, and leaves nothing."""

    def __init__(self, code: Code, text: str, **facts: Any) -> None:
        """`facts` are further members of the answer; None is left out."""
        super().__init__(text)
        self.code = code
        self.text = text
        self.facts = {name: value for name, value in facts.items() if value is not None}


def too_large(limit: int) -> RefusedError:
    """The refusal of a file that has more bytes than the limit."""
    return RefusedError("too-large", f"the file is larger than {limit:,} bytes (limits.file_mb)", limit=limit)
