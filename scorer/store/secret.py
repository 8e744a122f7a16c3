"""The secrets of a challenge, which follow from the salt of its database, and what is made with them.

Receipts are signed with Ed25519 (RFC 8032). The opening of a commitment is the text whose SHA-256 is published before
the start, and which is published at the end. Its salt keeps a small solution secret: without it, nobody can confirm a
guess. The salt follows from a secret and from the rest of the text, so that the same challenge has the same opening,
and another one has another salt.

    opening    = "scorer-commitment-v1" || newline || content as JSON
    salt       = HMAC-SHA256(secret, content without its salt, as JSON)
    commitment = SHA-256(opening)
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from scorer.store.canonical import encoded

Purpose = Literal["solutions", "snapshots", "log", "receipts", "commitment"]
"""What a secret is for: salted digests of solutions, names of snapshots, nonces of the log, the private key of
receipts, and the salt of a commitment."""

PREFIX = "scorer-commitment-v1\n"


def secret_of(salt: str, purpose: Purpose) -> bytes:
    """A secret of 32 bytes for one purpose, from the salt of the database; publishing it tells nothing about others."""
    return hmac.digest(bytes.fromhex(salt), purpose.encode("ascii"), "sha256")


# Signatures


def public_key(secret: bytes) -> bytes:
    """The public key of a private key: 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def public_pem(key: bytes) -> str:
    """A public key in PEM, as OpenSSL reads it."""
    public = Ed25519PublicKey.from_public_bytes(key)
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def key_of_pem(pem: bytes) -> bytes:
    """The public key in PEM. Raises ValueError if it is anything else than a public key of Ed25519."""
    try:
        public = load_pem_public_key(pem)
    except Exception as error:  # unsupported kinds of keys have several errors
        raise ValueError("is no public key in PEM") from error
    if not isinstance(public, Ed25519PublicKey):
        raise ValueError("is a public key of another kind than Ed25519")  # noqa: TRY004  the type is an input
    return public.public_bytes_raw()


def signature(secret: bytes, message: bytes) -> bytes:
    """The signature of a message: 64 bytes, always the same."""
    return Ed25519PrivateKey.from_private_bytes(secret).sign(message)


def is_signed(key: bytes, message: bytes, signed: bytes) -> bool:
    """Whether `signed` is the signature of a message by the private key of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signed, message)
    except InvalidSignature:
        return False
    return True


# Commitments


def opening_of(secret: bytes, content: Mapping[str, Any]) -> str:
    """The opening of a commitment, in ASCII, given its content without the salt."""
    salt = hmac.digest(secret, encoded(content).encode("ascii"), "sha256").hex()
    return PREFIX + encoded({**content, "salt": salt})


def sha256_of(opening: str) -> str:
    """The commitment, in hexadecimal."""
    return hashlib.sha256(opening.encode("ascii")).hexdigest()


def content_of(opening: str) -> Mapping[str, Any]:
    """The content of an opening. Raises ValueError if the text is no opening."""
    if not opening.startswith(PREFIX):
        raise ValueError(f"does not begin with the line {PREFIX.strip()}")
    content = json.loads(opening.removeprefix(PREFIX))
    if not isinstance(content, dict):
        raise ValueError("is no JSON object")  # noqa: TRY004  as for other texts that are no opening
    return content
