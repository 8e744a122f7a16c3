"""``scorer verify``: check what an organiser has published, without the challenge."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.output import print_result
from scorer.cli.parameters import WrongCallError, argument, declared, group, option
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.verification.log import KnownHead, Verified


def _log(file: Path, earlier: Path | None, head: KnownHead | None) -> Iterator[Verified]:
    from scorer.verification.log import verified_log

    return verified_log(file, earlier, head)


def _split(file: Path, key_sha256: str | None, earlier: Path | None, queries: Path | None) -> Iterator[Verified]:
    from scorer.lists.solution import read_ids
    from scorer.verification.receipt import verified_split

    return verified_split(file, key_sha256, earlier, None if queries is None else read_ids(queries).to_pylist())


def _bundle(file: Path, log: Path | None) -> Iterator[Verified]:
    from scorer.organising.bundles import verified_rows
    from scorer.verification.bundle import verified_bundle

    statements = list(verified_bundle(file, log))
    yield from statements
    if not any(statement.contradiction for statement in statements):
        yield from verified_rows(file)


def _receipt(file: Path, key: Path, log: Path | None, submission: Path | None) -> Iterator[Verified]:
    from scorer.verification.receipt import verified_receipt

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
    """Takes the file and some of `Evidence` by name, None where it need not be given; yields the statements."""

    @property
    def evidence(self) -> dict[str, bool]:
        """The names of the evidence that it takes, and whether each must be given."""
        parameters = list(signature(self.verified).parameters.values())[1:]
        return {each.name: "None" not in str(each.annotation) for each in parameters}


DOCUMENTS = {
    "log": Document("log.jsonl: each head follows from the leaves until it", _log),
    "receipt": Document("a receipt: an entry is in the record and in the log", _receipt),
    "commitment": Document("commitment.json: solutions, rules and keys are those of before the start", _commitment),
    "split": Document("split.json: which queries were preliminary", _split),
    "bundle": Document("the file that `scorer export` wrote: its bytes, record and rows", _bundle),
}
"""What can be verified, by name."""

_DOCUMENTS_HELP = "; ".join(f"{name}: {document.help}" for name, document in DOCUMENTS.items())


@dataclass(frozen=True)
class Evidence:
    """What documents are verified by, apart from themselves."""

    earlier: Path | None = option(
        "--earlier FILE",
        "log, split: an earlier copy of the file; the log must begin with it, the split have its share",
    )
    head: Any = option(
        "--head [INDEX:]HEAD",
        "log: a head that the site, its feed or a receipt showed; the log must have it",
        type=_known_head,
        required=False,
    )
    key: Path | None = option("--key FILE", "receipt, commitment: receipts.pem, the public key of receipts")
    log: Path | None = option(
        "--log FILE",
        "receipt, commitment, bundle: log.jsonl of the site; it must have the event of the document, or the record in "
        "the bundle",
    )
    submission: Path | None = option("--file FILE", "receipt: the submitted file; it must be the one that was received")
    opening: Path | None = option(
        "--opening FILE", "commitment: commitment.txt, which is published after the challenge"
    )
    sha256: str | None = option(
        "--sha256 HASH",
        "commitment: the commitment that the site showed earlier; it must be the same",
        type=_sha256,
    )
    solution: list[tuple[str, Path]] | None = option(
        "--solution TRACK=FILE",
        "commitment: the published solution of a track; it must be the committed one; repeatable",
        type=_solution,
    )
    split: list[Path] | None = option(
        "--split FILE",
        "commitment: split.json of a track; its key and its share must be the committed ones; repeatable",
    )
    queries: Path | None = option(
        "--queries FILE", "split: all queries of the solution, one a line; the lists must have the same"
    )
    key_sha256: str | None = option(
        "--key-sha256 HASH",
        "split: the SHA-256 of the key that the site showed earlier; it must be the same",
        type=_sha256,
    )

    def of(self, document: str) -> dict[str, Any]:
        """What the document takes, by name. Raises WrongCallError for other evidence, and for what is missing."""
        taken = DOCUMENTS[document].evidence
        options = {each.name: each.default.flags[0] for each in declared(Evidence)}
        for name, value in vars(self).items():
            if value is not None and name not in taken:
                known = ", ".join(options[each] for each in taken)
                raise WrongCallError(f"{options[name]}: no option of {document}; it takes {known}")
            if value is None and taken.get(name):
                raise WrongCallError(f"{document}: {options[name]} is missing")
        return {name: getattr(self, name) for name in taken}


def verify(
    document: str = argument(
        f"what to verify. {_DOCUMENTS_HELP}",
        choices=tuple(DOCUMENTS),
    ),
    file: Path = argument("the file that the site publishes, such as log.jsonl"),
    evidence: Evidence = group(),
) -> int:
    """Verify a document that the organiser of a challenge has published.

    Prints a line for each check, ok or FAILED and what differs, and notes on what is not checked. Exits with 1 if a
    check failed.
    It needs neither the challenge nor its database.
    """
    failed = 0
    for statement in DOCUMENTS[document].verified(file, **evidence.of(document)):
        failed += bool(statement.contradiction)
        difference = f": {statement.contradiction}" if statement.contradiction else ""
        word = "FAILED" if statement.contradiction else "note" if statement.is_note else "ok"
        print_result(f"{word:6}  {printable(statement.statement + difference)}")
    return 1 if failed else 0
