"""Tables of challenge.toml as validated models, and the kinds of values that several of them have."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict

TEXT = "a text"
MARKDOWN = "a text in Markdown"


class SettingsTable(BaseModel):
    """A table of challenge.toml; the description of each field says which values are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    not_keys: ClassVar[frozenset[str]] = frozenset({"root"})
    """Fields that do not come from a key of the table."""

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that the table can have, in the order of the documentation."""
        return [name for name in cls.model_fields if name not in cls.not_keys]


def _stated(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


def _path_text(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError("is not a path")
    return text


Stated = Annotated[str, AfterValidator(_stated)]
PathText = Annotated[str, AfterValidator(_path_text)]
