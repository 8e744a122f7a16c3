"""The templates: their folders, their filters, the sandbox of those of an organiser, and messages about errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from traceback import walk_tb
from types import CodeType
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.sandbox import ImmutableSandboxedEnvironment

from scorer.errors import ScorerError
from scorer.paths import shipped_templates
from scorer.site import markdown
from scorer.wording import counted, day_and_month, exact_time, in_words, iso_time, long_time, printable, utc_time

NO_SCORE = "–"


class TemplateFolder(FileSystemLoader):
    """A folder of templates; a template that cannot be read raises ScorerError."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise ScorerError(
                f"{self.searchpath[0]}/{template}: cannot be read ({error}); expected UTF-8 text"
            ) from error


class CompiledTemplates(BytecodeCache):
    """The templates that this process has compiled, by path and content: each is compiled once."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._code[bucket.key, bucket.checksum] = bucket.code


COMPILED = {is_own: CompiledTemplates() for is_own in (False, True)}
"""Those of environments with and without own templates, whose code differs."""


# The sandbox of templates that are not shipped: an imported bundle may contain them, too

VALUES = (str, bytes, int, float, list, tuple, dict, frozenset, datetime)
"""Types whose methods a template may call."""

MODULES = (
    "jinja2",
    "scorer.analysis",
    "scorer.board",
    "scorer.challenge",
    "scorer.charts",
    "scorer.live",
    "scorer.measures",
    "scorer.reports",
    "scorer.site",
    "scorer.store",
    "scorer.wording",
)
"""Where functions are defined that a template may call: macros, and what the context of a page offers."""


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment whose templates read the values of their context, but no file, no network and no other object."""

    def is_safe_callable(self, called: Any) -> bool:
        """Whether a template may call this."""
        if not super().is_safe_callable(called):
            return False
        method = getattr(called, "__wrapped__", called)  # Jinja wraps the methods that format text
        if isinstance(getattr(method, "__self__", None), VALUES):
            return True
        module = getattr(called, "__module__", None) or type(called).__module__
        return any(module == name or module.startswith(f"{name}.") for name in MODULES)


# Environments


def has_templates(folder: Path) -> bool:
    """Whether a folder has templates that are not the shipped ones."""
    return folder.resolve() != shipped_templates().resolve() and any(folder.glob("*.html"))


def environment_with(loader: ChoiceLoader, *, own: bool) -> Environment:
    """The environment of all templates: escapes HTML, refuses undefined names, and adds the filters.

    With `own`, templates that are not shipped may be among them; then all are rendered in the sandbox, which is slower.
    """
    environment = (Sandbox if own else Environment)(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=COMPILED[own],
    )
    environment.filters |= FILTERS
    return environment


def _number(score: float | None, decimals: int) -> str:
    """A score with this many decimals; a dash for None."""
    # + 0.0 turns -0.0 into 0.0.
    return NO_SCORE if score is None else f"{score + 0.0:.{decimals}f}"


def _signed(difference: float, decimals: int) -> str:
    """A difference with its sign: ``+0.0123``, ``−0.0123``; ``0.0000`` without one."""
    text = f"{difference:+.{decimals}f}"
    return text[1:] if float(text) == 0.0 else text.replace("-", "−")


def _date(when: datetime) -> str:
    """A day in UTC: ``2011-04-18``."""
    return utc_time(when, "day")


def _long_day(when: datetime) -> str:
    """A day in UTC for a sentence: ``8 July 2011``."""
    return long_time(when).partition(",")[0]


def _basename(path: str) -> str:
    """The last part of a path with forward slashes."""
    return path.rpartition("/")[2]


FILTERS: Mapping[str, Callable[..., str]] = {
    "counted": counted,
    "in_words": in_words,
    "printable": printable,
    "number": _number,
    "signed": _signed,
    "markdown": markdown.to_html,
    "first_paragraph": markdown.first_paragraph,
    "further_paragraphs": markdown.further_paragraphs,
    "stamp": utc_time,
    "iso": iso_time,
    "day": day_and_month,
    "date": _date,
    "long": long_time,
    "long_day": _long_day,
    "exact": exact_time,
    "basename": _basename,
}
"""What templates can apply to a value, in addition to the filters of Jinja."""


def render_template(environment: Environment, name: str, context: Mapping[str, object]) -> str:
    """Render a template.

    Raises ScorerError if the template, or one that it uses, has an error; the message gives the file and the line.
    """
    try:
        return environment.get_template(name).render(context)
    except TemplateSyntaxError as error:
        raise ScorerError(f"{error.filename}:{error.lineno}: {error.message}") from error
    except ScorerError:
        raise
    except Exception as error:
        # A template can raise anything; Jinja2 puts its file and line into the traceback.
        frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        in_templates = [f"{file}:{line}" for file, line in frames if file.endswith(".html")]
        if not in_templates:
            raise
        raise ScorerError(f"{in_templates[-1]}: {error}") from error
