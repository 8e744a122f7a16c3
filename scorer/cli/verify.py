"""``scorer verify``: check what an organiser has published, without the challenge."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from scorer.cli.console import print_result
from scorer.wording import printable, quoted

DOCUMENTS = ("split",)
"""What can be verified."""


def add_document(parser: ArgumentParser) -> None:
    """Add the arguments of ``verify``."""
    parser.add_argument("document", choices=DOCUMENTS, help="what to verify; split: which queries were preliminary")
    parser.add_argument("file", type=Path, help="the file that the site publishes, such as split.json")
    parser.add_argument(
        "--key-sha256",
        type=_sha256,
        metavar="HASH",
        help="the SHA-256 of the key that the site showed earlier; it must be the same",
    )


def _sha256(text: str) -> str:
    digits = text.strip().lower()
    if len(digits) != 64 or not set(digits) <= set("0123456789abcdef"):
        raise ArgumentTypeError(f"found {quoted(text)}, expected 64 hexadecimal digits")
    return digits


def verify(document: str, file: Path, key_sha256: str | None) -> int:
    """Verify a document that the organiser of a challenge has published.

    Prints a line for each statement that was checked: ok, or FAILED and what differs. Exits with 1 if a check failed.
    It needs neither the challenge nor its database.
    """
    from scorer.organising.verification import verified_split

    checks = {"split": lambda: verified_split(file, key_sha256)}
    failed = 0
    for each in checks[document]():
        failed += bool(each.contradiction)
        found = f": {each.contradiction}" if each.contradiction else ""
        print_result(f"{'FAILED' if each.contradiction else 'ok':6}  {printable(each.statement + found)}")
    return 1 if failed else 0
