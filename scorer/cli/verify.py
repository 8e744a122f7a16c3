"""``scorer verify``: check what an organiser has published, without the challenge."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import WrongCallError, print_result
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.verification.log import KnownHead, Verified


def _log(file: Path, earlier: Path | None, head: KnownHead | None) -> Iterator[Verified]:
    from scorer.verification.log import verified_log

    return verified_log(file, earlier, head)


def _split(file: Path, key_sha256: str | None, earlier: Path | None, queries: Path | None) -> Iterator[Verified]:
    from scorer.lists.solution import read_ids
    from scorer.verification.commitment import verified_split

    return verified_split(file, key_sha256, earlier, None if queries is None else read_ids(queries).to_pylist())


def _bundle(file: Path, log: Path | None) -> Iterator[Verified]:
    from scorer.organising.bundles import verified_rows
    from scorer.verification.bundle import verified_bundle

    statements = list(verified_bundle(file, log))
    yield from statements
    if not any(statement.contradiction for statement in statements):
        yield from verified_rows(file)


def _receipt(file: Path, key: Path, log: Path | None, submission: Path | None) -> Iterator[Verified]:
    from scorer.verification.commitment import verified_receipt

    return verified_receipt(file, key, log, submission)


def _commitment(
    file: Path,
    opening: Path | None,
    sha256: str | None,
    log: Path | None,
    key: Path | None,
    solution: list[tuple[str, Path]] | None,
    split: list[Path] | None,
) -> Iterator[Verified]:
    from scorer.verification.commitment import Public, verified_commitment

    return verified_commitment(file, opening, Public(sha256, log, key, solution or (), split or ()))


def _solution(text: str) -> tuple[str, Path]:
    track, equals, file = text.partition("=")
    if not (track and equals and file):
        raise ArgumentTypeError(f"found {quoted(text)}, expected TRACK=FILE, as in main=solution.txt")
    return track, Path(file)


def _sha256(text: str) -> str:
    digits = text.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise ArgumentTypeError(f"found {quoted(text)}, expected 64 hexadecimal digits")
    return digits


def _known_head(text: str) -> KnownHead:
    from scorer.verification.log import KnownHead

    match = re.fullmatch("(?:([1-9][0-9]{0,17}):)?([0-9a-f]{64})", text.strip().lower())
    if match is None:
        expected = "the index of an event and 64 hexadecimal digits, as in 123:3f2a..., or the digits only"
        raise ArgumentTypeError(f"found {quoted(text)}, expected {expected}")
    return KnownHead(bytes.fromhex(match[2]), int(match[1]) if match[1] else None)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that can be verified."""

    help: str
    """What it shows."""
    verified: Callable[..., Iterator[Verified]]
    """Takes the file and the options by name, and yields the statements of the document."""
    options: tuple[str, ...]
    """The options that it takes, of `OPTIONS`; their values are None where they are not given."""
    required: tuple[str, ...] = ()
    """Those of its options that must be given."""


DOCUMENTS = {
    "log": Document("log.jsonl: each head follows from the leaves until it", _log, ("--earlier", "--head")),
    "receipt": Document(
        "a receipt: an entry is in the record and in the log",
        _receipt,
        ("--key", "--log", "--file"),
        ("--key",),
    ),
    "commitment": Document(
        "commitment.json: solutions, rules and keys are those of before the start",
        _commitment,
        ("--opening", "--sha256", "--log", "--key", "--solution", "--split"),
    ),
    "split": Document("split.json: which queries were preliminary", _split, ("--key-sha256", "--earlier", "--queries")),
    "bundle": Document("the file that `scorer export` wrote: its bytes, record and rows", _bundle, ("--log",)),
}
"""What can be verified, by name."""


def _file(help_text: str, **settings: str) -> dict[str, Any]:
    """What argparse takes for an option that is a file."""
    return {"type": Path, "metavar": "FILE", "help": help_text, **settings}


def _hash(help_text: str) -> dict[str, Any]:
    """What argparse takes for an option that is a SHA-256."""
    return {"type": _sha256, "metavar": "HASH", "help": help_text}


OPTIONS: dict[str, dict[str, Any]] = {
    "--earlier": _file("log, split: an earlier copy of the file; the log must begin with it, the split have its share"),
    "--head": {
        "type": _known_head,
        "metavar": "[INDEX:]HEAD",
        "help": "log: a head that the site, its feed or a receipt showed; the log must have it",
    },
    "--key": _file("receipt, commitment: receipts.pem, the public key of receipts"),
    "--log": _file(
        "receipt, commitment, bundle: log.jsonl of the site; it must have the event of the document, or the record in "
        "the bundle"
    ),
    "--file": _file("receipt: the submitted file; it must be the one that was received", dest="submission"),
    "--opening": _file("commitment: commitment.txt, which is published after the challenge"),
    "--sha256": _hash("commitment: the commitment that the site showed earlier; it must be the same"),
    "--solution": {
        "type": _solution,
        "action": "append",
        "metavar": "TRACK=FILE",
        "help": "commitment: the published solution of a track; it must be the committed one; repeatable",
    },
    "--split": _file(
        "commitment: split.json of a track; its key and its share must be the committed ones; repeatable",
        action="append",
    ),
    "--queries": _file("split: all queries of the solution, one a line; the lists must have the same"),
    "--key-sha256": _hash("split: the SHA-256 of the key that the site showed earlier; it must be the same"),
}
"""The options of all documents, as argparse takes them."""


def add_document(parser: ArgumentParser) -> None:
    """Add the arguments of ``verify``."""
    names = "; ".join(f"{name}: {document.help}" for name, document in DOCUMENTS.items())
    parser.add_argument("document", choices=tuple(DOCUMENTS), help=f"what to verify. {names}")
    parser.add_argument("file", type=Path, help="the file that the site publishes, such as log.jsonl")
    for option, settings in OPTIONS.items():
        parser.add_argument(option, **settings)


def verify(document: str, file: Path, **options: Any) -> int:
    """Verify a document that the organiser of a challenge has published.

    Prints a line for each check, ok or FAILED and what differs, and notes on what is not checked. Exits with 1 if a
    check failed.
    It needs neither the challenge nor its database.
    """
    chosen = DOCUMENTS[document]
    failed = 0
    for statement in chosen.verified(file, **_options_of(document, options)):
        failed += bool(statement.contradiction)
        difference = f": {statement.contradiction}" if statement.contradiction else ""
        word = "FAILED" if statement.contradiction else "note" if statement.is_note else "ok"
        print_result(f"{word:6}  {printable(statement.statement + difference)}")
    return 1 if failed else 0


def _options_of(document: str, options: dict[str, Any]) -> dict[str, Any]:
    """The values of the options of a document. Raises WrongCallError for other options, and for missing ones."""
    chosen = DOCUMENTS[document]
    for option in OPTIONS:
        is_given = options[_name(option)] is not None
        if is_given and option not in chosen.options:
            raise WrongCallError(f"{option}: no option of {document}; it takes {', '.join(chosen.options)}")
        if not is_given and option in chosen.required:
            raise WrongCallError(f"{document}: {option} is missing")
    return {_name(option): options[_name(option)] for option in chosen.options}


def _name(option: str) -> str:
    """The name of the value of an option."""
    return str(OPTIONS[option].get("dest", option.removeprefix("--").replace("-", "_")))
