"""The English of everything that a user or a contributor reads: plain words, no idioms, no questions in docstrings."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from scorer.cli import COMMANDS
from tests.commands import Terminal
from tests.paths import ROOT


@dataclass(frozen=True, slots=True)
class Idiom:
    """Words that no text uses."""

    pattern: str
    """A regular expression; a space stands for any white space."""
    instead: str
    """What to write."""
    example: str
    """A text that the pattern finds."""

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """Where `text` has these words, in upper or lower case."""
        return re.finditer(self.pattern.replace(" ", r"\s+"), text, re.IGNORECASE)


IDIOMS = (
    Idiom(r"\btold\b", "detected, reported, described", "the format is told from the content"),
    Idiom(r"\btells?\b [^.;:]{1,40} \bfrom\b", "distinguishes ... from", "a name that tells one from another"),
    Idiom(r"(?<!-)\bst(and|ands|anding|ood)\b(?!-| (in|for)\b)", "is, is listed, appears", "item a7 stands twice"),
    Idiom(r"\b(at|to|in) hand\b", "available", "`scorer` is at hand"),
    Idiom(r"\bsen[dt]s? in\b", "submits, submitted", "what was sent in"),
    Idiom(r"\bof whose\b", "whose", "a team of whose files one counts"),
    Idiom(r"\bask(s|ed|ing)? for\b", "requests, requires, requested", "the track that was asked for"),
    Idiom(r"\banew\b", "again", "everything is scored anew"),
    Idiom(r"\bfit for\b", "valid for", "not fit for main"),
    Idiom(r"\ball that is (wrong|at fault)\b", "all errors", "all that is wrong is reported"),
    Idiom(r"\bat fault\b", "invalid, wrong", "a file at fault"),
    Idiom(r"\b(lie|lies|lying)\b", "is, are", "what lies in the folder"),
    Idiom(r"\b(go|goes|went|going) by\b", "uses, is matched by", "the names that it goes by"),
    Idiom(r"\bof (its|their) own\b", "its own ..., separate", "in a process of its own"),
    Idiom(r"\bby (itself|themselves)\b", "separately, only", "each part by itself"),
    Idiom(r"\bsuch as it is\b", "unchanged", "the file such as it is"),
    Idiom(r"\blikewise\b", "also, the same", "likewise for columns"),
    Idiom(r"\bbe (it|they)\b", "whether it is", "each item, be it judged or not"),
    Idiom(r"(?<!-)\balone\b", "only", "one track alone"),
    Idiom(r"\bthere (is|are) none\b", "no ... exists, without", "where there is none"),
    Idiom(r"\bwhatever\b", "any, regardless of", "whatever the order"),
    Idiom(r"\bhence\b", "therefore", "hence the sum is 1"),
    Idiom(r"\bbeside\b", "next to, in addition to", "a table beside the board"),
    Idiom(r"\bwhat is right\b", "the solution, the relevant items", "what is right, coded once"),
    Idiom(r"\b(right items?|nothing right)\b", "relevant items, nothing relevant", "the right items of a query"),
    Idiom(r"\bleast relevant grade\b", "lowest grade that counts as relevant", "the least relevant grade"),
    Idiom(r"\b(in|at) its first place\b", "at its first rank", "counts once, at its first place"),
)
"""From the table and the list in the rules for English: what to write instead."""

TEXTS = sorted(
    [
        *(ROOT / name for name in ("Makefile", ".ci/run", "challenge.toml", "Containerfile", "codemeta.json")),
        *(ROOT / name for name in (".editorconfig", ".pre-commit-config.yaml", "CITATION.cff")),
        *ROOT.glob("*.md"),
        *(file for file in (ROOT / ".github").rglob("*") if file.is_file()),
        *(file for file in (ROOT / "templates").rglob("*") if file.is_file()),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs").glob("*.ipynb"),
        *(ROOT / "scorer").rglob("*.toml"),
    ]
)
SOURCES = sorted(
    [
        *(ROOT / "scorer").rglob("*.py"),
        *(file for folder in ("benchmarks", "docs", "example", "studies") for file in (ROOT / folder).glob("*.py")),
    ]
)
TESTS = sorted(file for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__).resolve())


ANY = re.compile("|".join(f"(?:{idiom.pattern})" for idiom in IDIOMS).replace(" ", r"\s+"), re.IGNORECASE)
"""Finds any of the idioms, in the time of one."""


def relative(file: Path) -> str:
    """The path from the root of the project, with forward slashes."""
    return file.relative_to(ROOT).as_posix()


@cache
def source_of(file: Path) -> str:
    """The text of a file, which several tests read."""
    return file.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a module, each with its line."""

    strings: list[tuple[int, str]]
    """String constants: messages, help, docstrings, and the fixed parts of f-strings."""
    docstrings: list[tuple[int, str]]
    """Strings that are statements: docstrings, and the descriptions below constants and fields."""
    names_of_tests: list[tuple[int, str]]
    """As words."""


@cache
def texts_of(file: Path) -> Texts:
    """Those of a module; its syntax tree is not kept, because all of them take 300 MB."""
    texts = Texts([], [], [])
    for node in ast.walk(ast.parse(source_of(file))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.strings.append((node.lineno, node.value))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.docstrings.append((node.lineno, node.value.value))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            texts.names_of_tests.append((node.lineno, node.name.replace("_", " ")))
    return texts


def assert_none(found: Iterable[str]) -> None:
    """Fail with a line for each fault."""
    lines = list(found)
    assert not lines, "\n" + "\n".join(lines)


def faults(text: str, where: str, first_line: int = 1) -> list[str]:
    """A line for each idiom: file and line, the words, and what to write instead."""
    return [
        f"{where}:{first_line + text.count(chr(10), 0, match.start())}: found {' '.join(match[0].split())!r}; "
        f"write {idiom.instead}: ... {' '.join(text[max(match.start() - 40, 0) : match.end() + 40].split())} ..."
        for idiom in (IDIOMS if ANY.search(text) else ())
        for match in idiom.found(text)
    ]


def comments(file: Path) -> Iterator[tuple[int, str]]:
    """Each comment with its first line; comments on consecutive lines are one."""
    tokens = [
        (token.start[0], token.string.lstrip("#: "))
        for token in tokenize.generate_tokens(io.StringIO(source_of(file)).readline)
        if token.type == tokenize.COMMENT
    ]
    start = 0
    for at, (before, after) in enumerate(pairwise([*tokens, (-1, "")]), start=1):
        if after[0] != before[0] + 1:
            yield tokens[start][0], "\n".join(text for _, text in tokens[start:at])
            start = at


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.example)
def test_each_idiom_is_found_in_its_example(idiom: Idiom) -> None:
    """Also across the end of a line."""
    assert any(idiom.found(idiom.example))
    assert any(idiom.found(idiom.example.replace(" ", "\n")))


@pytest.mark.parametrize(
    "text", ["MAR stands for a mean", "a stand-in", "besides", "a stand-alone page", "a right angle"]
)
def test_plain_words_are_no_idioms(text: str) -> None:
    """Words that look similar are allowed."""
    assert not faults(text, "text")


def test_texts_have_no_idioms() -> None:
    """Pages, templates, documentation, and the files that build the project."""
    assert_none(fault for file in TEXTS for fault in faults(source_of(file), relative(file)))


def test_sources_have_no_idioms() -> None:
    """Strings, docstrings and comments."""
    assert_none(
        fault
        for file in SOURCES
        for line, text in [*texts_of(file).strings, *comments(file)]
        for fault in faults(text, relative(file), line)
    )


def test_tests_have_no_idioms() -> None:
    """Names, docstrings and comments; other strings may be data."""
    lines = re.compile(r"\n\s*(#:? *)?")
    files = [file for file in TESTS if ANY.search(lines.sub("\n", source_of(file)).replace("_", " "))]
    assert_none(
        fault
        for file in files  # which may have one: to find comments takes long
        for line, text in [*texts_of(file).docstrings, *comments(file), *texts_of(file).names_of_tests]
        for fault in faults(text, relative(file), line)
    )


def test_docstrings_are_no_questions() -> None:
    """A docstring says what a function does or returns: "Whether ..." instead of "Is ...?"."""
    assert_none(
        f"{relative(file)}:{line}: a question; write a statement: {' '.join(text.split())[:80]}"
        for file in [*SOURCES, *TESTS]
        for line, text in texts_of(file).docstrings
        if any(paragraph.rstrip().endswith("?") for paragraph in text.split("\n\n"))
    )


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_no_idioms(command: str, terminal: Terminal) -> None:
    """As each command prints it."""
    answer = terminal.run(*command.split(), "--help")

    assert answer.code == 0
    assert_none(faults(answer.out, f"scorer {command} --help"))
