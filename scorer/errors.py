"""The exceptions of the package, the problems found in a file, and failures of the system.

A `ScorerError` is an error that the user can correct; its text is the message. A `FileError` has all problems found in
a file. Any other exception that leaves the package is a bug.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from string import Formatter
from typing import TYPE_CHECKING, Any

from scorer.wording import counted, printable, quoted, shortened, texts_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_SHOWN = 20
"""How many problems of one file are stored as text; the others are only counted."""

_SEVERAL = 5
"""How many problems of the same kind are merged into one if another one stays, and no line is valid."""

LONGEST = 300
"""How many characters the text of a problem has at most; a longer one is cut."""


class ScorerError(Exception):
    """The base of all errors that a user can correct."""


class ChallengeError(ScorerError):
    """``challenge.toml``, or a file that it names, is invalid or cannot be read."""


class MeasureError(ScorerError, ValueError):
    """There is no measure with this name, or it does not have these parameters."""


class ConversionError(ScorerError, ValueError):
    """A setting of a conversion is wrong, or is needed and missing."""

    setting: str
    """The parameter of `convert`."""
    text: str
    """The message without the setting."""

    def __init__(self, setting: str, text: str) -> None:
        self.setting = setting
        self.text = text
        super().__init__(setting, text)

    def __str__(self) -> str:
        return f"{self.setting}: {self.text}"


class FusionError(ScorerError, ValueError):
    """There is no fusion method or normalisation with this name, or the method does not take these parameters."""


class ExecutorError(ScorerError):
    """There is no executor with this name, or it is not available."""


class StoreError(ScorerError):
    """The database cannot be opened, has another version, or is in use."""


class MissingError(ScorerError, ImportError):
    """A library is not installed; the message says which extra of the package has it."""


RENDERING = ("sqlalchemy", "jinja2", "PIL", "latex2mathml", "markdown_it", "scipy")
"""The libraries that the pages of a challenge need; those first whose extra has all others."""

SERVING = ("starlette", "anyio", "prometheus_client", "python_multipart", "uvicorn")

_EXTRAS = {
    **dict.fromkeys((*RENDERING, "markupsafe", "psutil", "shtab"), "board"),
    **dict.fromkeys(("scipy", "pandas"), "compare"),
    **dict.fromkeys(SERVING, "serve"),
    "distributed": "distributed",
    "psycopg": "postgres",
    "cryptography": "verify",
}
"""The extra of the package that has a library."""


@cache
def need_libraries(*libraries: str) -> None:
    """Raise MissingError unless these libraries of the package's extras are installed; they are not imported."""
    for library in libraries:
        if find_spec(library) is None:
            extra = f"pip install 'challenge-scorer[{_EXTRAS[library]}]'"
            raise MissingError(f"{library} is not installed; install it with `{extra}`", name=library)


@contextmanager
def need_what_is_imported() -> Iterator[None]:
    """Raise MissingError for a library of an extra that an import does not find."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name in _EXTRAS:
            need_libraries(error.name)
        raise


@contextmanager
def os_errors_as(kind: type[ScorerError], what: str, remedy: str = "") -> Iterator[None]:
    """Raise an error of this kind for an OSError: what cannot be done, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}{remedy and f'; {remedy}'}") from error


Fact = str | int | float | Sequence[str]
"""A value that the text of a problem has; a sequence of ids ends with "" if there are more of them."""

FORM = "form"
"""The code of what only the bytes of the file say; its fact `text` is the message."""

CAUSE = re.compile(r"\{([a-z-]+)\.([a-z-]+)\}")
"""In a text: the code of the cause and the variant of its text."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a file, or a note about it, as a value: a code and facts, of which the text is made.

    The texts, and who may see which code, are in errors.toml. Every decision uses the code, never the text.
    """

    line: int
    """From 1; 0 for a problem of the whole file."""
    code: str
    facts: Mapping[str, Fact] = field(default_factory=dict, hash=False)
    """Plain JSON, bounded. `variant` chooses one of several texts of the code."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", {name: _bounded(fact) for name, fact in self.facts.items()})

    @classmethod
    def of_form(cls, line: int, text: str, advice: str = "") -> Problem:
        """A problem of the form of a file; `advice` is for those who choose the settings of the track."""
        return cls(line, FORM, {"text": text, "advice": advice})

    @property
    def text(self) -> str:
        """What was found, what was expected, what to do: at most `LONGEST` characters."""
        template = texts_of(__file__)[self.code]["text"]
        if not isinstance(template, str):
            template = template[self.facts["variant"]]
        template = CAUSE.sub(lambda cause: texts_of(__file__)[cause[1]]["text"][cause[2]], template)
        return shortened(_SENTENCES.vformat(template, (), self.facts), LONGEST)

    def for_team(self, *, queries_are_public: bool) -> Problem | None:
        """What the team of the file may see of it: the problem, another one in its place, or nothing."""
        known = texts_of(__file__)[self.code]
        if known.get("seen_by") == "team" or (known.get("seen_by") == "team, public queries" and queries_are_public):
            return self.without_advice()
        return Problem(0, known["instead"]) if "instead" in known else None

    def without_advice(self) -> Problem:
        """The problem without what only who chooses the settings of a track can do."""
        return replace(self, facts={**self.facts, **texts_of(__file__)[self.code].get("for_team", {})})

    def __str__(self) -> str:
        return f"{self.line}: {self.text}" if self.line else self.text


def _bounded(fact: Fact) -> Fact:
    if isinstance(fact, str):
        return shortened(fact, LONGEST)
    is_number = isinstance(fact, int | float)  # first: the other check takes long
    return fact if is_number or not isinstance(fact, Sequence) else [shortened(name, LONGEST) for name in fact]


class _Sentences(Formatter):
    """Puts facts into texts: ``{ids:quoted}``, ``{count:n list}``, ``{count:n query/queries}``, or as Python does."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "quoted":
            ids = [value] if isinstance(value, str) else value
            return ", ".join(quoted(name) if name else "..." for name in ids)
        if format_spec.startswith("n "):
            return counted(value, *format_spec[2:].split("/"))
        return format(value, format_spec)


_SENTENCES = _Sentences()


@dataclass(slots=True, init=False)
class Findings:
    """The problems found in a file: the first `MOST_SHOWN` by line, and the number of all."""

    shown: list[Problem]
    """Sorted by line; problems of the whole file come first."""
    count: int
    """The number of all problems."""

    def __init__(self, shown: Sequence[Problem] = (), count: int = 0) -> None:
        self.shown, self.count = [*shown[:MOST_SHOWN]], count

    def add(self, line: int, text: str) -> None:
        """Add a problem of the form of the file."""
        self.put(Problem.of_form(line, text))

    def note(self, line: int, code: str, **facts: Fact) -> None:
        """Add what was found, by its code."""
        self.put(Problem(line, code, facts))

    def put(self, problem: Problem) -> None:
        """Add a problem."""
        self.extend(Findings([problem], 1))

    def add_each(self, lines: Sequence[int] | NDArray[np.int64], text: Callable[[int], str]) -> None:
        """Add a problem of form for each of `lines`, which ascend. ``text(i)`` is that of the i-th; few are used."""
        self.note_each(lines, FORM, lambda at: {"text": text(at), "advice": ""})

    def note_each(
        self, lines: Sequence[int] | NDArray[np.int64], code: str, facts: Callable[[int], Mapping[str, Fact]]
    ) -> None:
        """Add what was found in each of `lines`, which ascend; as `add_each`."""
        if not len(lines):
            return
        first = [Problem(int(line), code, facts(i)) for i, line in enumerate(lines[:MOST_SHOWN])]
        self.extend(Findings(first, len(lines)))

    def extend(self, others: Findings) -> None:
        """Add the problems of other findings."""
        if not others.count:
            return
        self.shown = sorted([*self.shown, *others.shown], key=lambda problem: problem.line)[:MOST_SHOWN]
        self.count += others.count

    def without(self, *codes: str) -> Findings:
        """Return the findings without those of some codes."""
        kept = [problem for problem in self.shown if problem.code not in codes]
        return Findings(kept, self.count - len(self.shown) + len(kept))

    def has(self, code: str) -> bool:
        """Whether one of the findings has this code."""
        return any(problem.code == code for problem in self.shown)

    def merged(self) -> Findings:
        """Return the findings with one in place of those that differ in ids and numbers only, if all but one do."""
        kinds = [re.sub(r'"(\\.|[^"\\])*"|[0-9]+', "", problem.text) for problem in self.shown]
        kind = max(kinds, key=kinds.count, default="")
        same, others = (
            [each for each, of in zip(self, kinds, strict=True) if (of == kind) == is_same] for is_same in (True, False)
        )
        if len(same) < (_SEVERAL if others else 2) or len(others) > 1:
            return self
        text = f"{same[0].text}; so in all {self.count - len(others):,} lines"
        return Findings([Problem.of_form(same[0].line, text), *others], 1 + len(others))

    def __bool__(self) -> bool:
        return self.count > 0

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.shown)

    def lines(self, path: str = "") -> list[str]:
        """The problems as lines of text, each after the printable `path` and its line number."""
        path = printable(path)
        lines = [_located(path, problem) for problem in self.shown]
        if self.count > len(self.shown):
            lines.append(_located(path, Problem(0, "more", {"count": self.count - len(self.shown)})))
        return lines


def _located(path: str, problem: Problem) -> str:
    if not path:
        return str(problem)
    return f"{path}:{problem}" if problem.line else f"{path}: {problem}"


class FileError(ScorerError):
    """A file is invalid or cannot be read; `findings` has all problems found in it."""

    path: str
    """The path of the file, or what the message calls an object in memory."""
    findings: Findings
    """All problems found in it."""

    def __init__(self, path: str, findings: Findings) -> None:
        self.path = path
        self.findings = findings
        super().__init__(path, findings)

    def __str__(self) -> str:
        return "\n".join(self.findings.lines(self.path))


class SolutionError(FileError):
    """A solution is invalid or cannot be read."""


class ContentError(SolutionError):
    """Each line of a solution is valid, but not all together: an item is listed again, or none is relevant."""


class SubmissionError(FileError):
    """A submission is invalid or cannot be read."""


IN_MEMORY = "the submission"
"""What messages call a submission in memory."""


class SubmissionsError(SubmissionError):
    """Some of several submissions are invalid or cannot be read."""

    errors: dict[str, SubmissionError]
    """The error of each invalid submission by its name."""

    def __init__(self, errors: Mapping[str, SubmissionError]) -> None:
        findings = Findings()
        for error in errors.values():
            findings.extend(error.findings)
        super().__init__(", ".join(errors), findings)
        self.errors = dict(errors)
        self.args = (self.errors,)  # a copy of the error is made of these

    def __str__(self) -> str:
        return "\n".join(line for name, error in self.errors.items() for line in _lines(name, error))


def _lines(name: str, error: SubmissionError) -> list[str]:
    """The lines of an error, with the name of the submission unless it is the path."""
    if name == error.path:
        return error.findings.lines(name)
    path = "" if error.path == IN_MEMORY else f": {error.path}"
    return error.findings.lines(f"submission {quoted(name)}{path}")


# Failures of the system

NO_MEMORY = re.compile(r"(?<!too much )memory|alloc", re.IGNORECASE)
"""A frame of zstd that "requires too much memory" states so itself, on every machine."""
NO_ROOM = re.compile(r"failed to map segment|cannot allocate memory", re.IGNORECASE)
"""Of a library that is imported while memory is short."""
NO_THREAD = re.compile(r"can't start new thread|Failed to launch worker thread")


def system_failure(error: BaseException) -> MemoryError | OSError | None:
    """The failure of the system that an error means, as Python raises it; None if it may mean something else."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
        return error
    if isinstance(error, ImportError) and NO_ROOM.search(str(error)):
        return MemoryError(str(error))
    of_arrow = getattr(sys.modules.get("pyarrow"), "ArrowException", MemoryError)  # Arrow may be what cannot be loaded
    if not isinstance(error, of_arrow | OSError | RuntimeError | zlib.error):
        return None
    if NO_THREAD.search(str(error)):
        return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return MemoryError(str(error)) if NO_MEMORY.search(str(error)) else None
