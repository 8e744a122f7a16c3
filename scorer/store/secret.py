"""The secrets of a challenge, which follow from the salt of its database."""

from __future__ import annotations

import hmac
from typing import Literal

Purpose = Literal["solutions", "snapshots", "log", "receipts", "commitment"]
"""What a secret is for: salted digests of solutions, names of snapshots, nonces of the log, the private key of
receipts, and the salt of a commitment."""


def secret_of(salt: str, purpose: Purpose) -> bytes:
    """A secret of 32 bytes for one purpose, always the same; to publish it tells nothing about the others.

    Parameters
    ----------
    salt
        Of the database, in hexadecimal.
    purpose
        What the secret is for.

    Raises
    ------
    ValueError
        The salt is not hexadecimal.
    """
    return hmac.digest(bytes.fromhex(salt), purpose.encode("ascii"), "sha256")
