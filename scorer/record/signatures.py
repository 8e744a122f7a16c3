"""Signatures of receipts and heads: Ed25519, RFC 8032."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key


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
