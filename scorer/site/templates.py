"""Templates: where they come from, their filters, and their errors in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from traceback import walk_tb

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError

from scorer.errors import ScorerError
from scorer.wording import counted

NO_SCORE = "–"


# The templates.


class TemplateFolder(FileSystemLoader):
    """Templates in a folder; one that cannot be read is told in words."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise ScorerError(
                f"{self.searchpath[0]}/{template}: cannot be read ({error}); expected UTF-8 text"
            ) from error


def shipped_templates() -> Path:
    """The folder of the product's own templates: inside the package once installed, beside it in the repository."""
    package = Path(__file__).parents[1]
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


def environment_of(loader: ChoiceLoader) -> Environment:
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "counted": counted,
        "number": _number,
        "paragraphs": _paragraphs,
        "stamp": _stamp,
        "iso": _iso,
    }
    return environment


def _number(score: float | None, decimals: int) -> str:
    # A value that was rounded to zero from below would else be printed as -0.0000.
    return NO_SCORE if score is None else f"{score + 0.0:.{decimals}f}"


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render_template(environment: Environment, name: str, known: Mapping[str, object]) -> str:
    try:
        return environment.get_template(name).render(known)
    except TemplateSyntaxError as error:
        raise ScorerError(f"{error.filename}:{error.lineno}: {error.message}") from error
    except ScorerError:
        raise
    except Exception as error:
        # What a template does can fail in any way; Jinja2 puts the template's file and line into the traceback.
        places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
        templates = [f"{file}:{line}" for file, line in places if file.endswith(".html")]
        if not templates:
            raise
        raise ScorerError(f"{templates[-1]}: {error}") from error
