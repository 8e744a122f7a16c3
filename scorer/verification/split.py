"""Verifies which queries of a track are preliminary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import compress
from pathlib import Path
from typing import Any

from scorer.challenge.splits import SHA256, QuerySplit, share, share_text
from scorer.verification.statement import Verified, invalid, listed, read_document, text_of
from scorer.wording import counted

TRACK = re.compile(r"[a-z0-9][a-z0-9-]*")
"""The name of a track."""


def verified_split(
    path: Path, key_sha256: str | None = None, earlier: Path | None = None, queries: Sequence[str] | None = None
) -> Iterator[Verified]:
    """Verify which queries of a track are preliminary, from the revealed key in its file split.json.

    Yields each statement of the file. It is compared with an `earlier` copy, or with `key_sha256`, the SHA-256 of the
    key in one, and with `queries`, the ids of all queries of the solution; None is not compared. Raises ScorerError if
    a file is not such a document.
    """
    document = read_document(path)
    published = text_of(path, document, "key_sha256", SHA256)
    if key_sha256 is not None:
        differs = "" if key_sha256 == published else f"the file has {published}, the earlier copy {key_sha256}"
        yield Verified("the SHA-256 of the key is that of the earlier copy", differs)
    if earlier is not None:
        copy = read_document(earlier)
        changed = (key for key in ("track", "preliminary", "key_sha256") if document.get(key) != copy.get(key))
        yield Verified("track, share and SHA-256 of the key are those of the earlier copy", listed("changed:", changed))
    if "key" not in document:
        yield Verified("the key is revealed", "not revealed yet; the organiser publishes it after the challenge")
        return
    split = QuerySplit(
        track=text_of(path, document, "track", TRACK),
        preliminary=_share(path, document),
        key=bytes.fromhex(text_of(path, document, "key", SHA256)),
    )
    differs = "" if split.key_sha256 == published else f"its SHA-256 is {split.key_sha256}, not {published}"
    yield Verified("the key has the published SHA-256", differs)
    lists = document.get("queries")
    if not isinstance(lists, dict):
        raise invalid(path, "queries", "an object with the lists preliminary and rest")
    preliminary, rest = (_ids(path, lists, side) for side in ("preliminary", "rest"))
    left_out = [not selected for selected in split.flags(preliminary)]
    count = counted(len(preliminary), "preliminary query", "preliminary queries")
    statement = f"with the share {share_text(split.preliminary)}, the key selects the {count}"
    yield Verified(statement, listed("does not select", compress(preliminary, left_out)))
    statement = f"the key selects none of the {counted(len(rest), 'other query', 'other queries')}"
    yield Verified(statement, listed("selects", compress(rest, split.flags(rest))))
    counts = Counter(preliminary + rest)
    yield Verified("no query is listed twice", listed("twice:", (query for query in counts if counts[query] > 1)))
    if earlier is None:
        yield Verified("the share was not compared with an earlier copy, nor with the commitment", is_note=True)
    if queries is None:
        yield Verified("the lists were not compared with all queries of the solution", is_note=True)
    else:
        lacking, added = (sorted(some) for some in (set(queries) - counts.keys(), counts.keys() - set(queries)))
        found = filter(None, (listed("lacks", lacking), listed("adds", added)))
        yield Verified(
            f"the lists have the {counted(len(queries), 'query', 'queries')}, and no other", "; ".join(found)
        )


def _share(path: Path, document: Mapping[str, Any]) -> Decimal:
    try:
        return share(document.get("preliminary"))
    except ValueError as error:
        raise invalid(path, "preliminary", 'a decimal between 0 and 1 as text, as in "0.2"') from error


def _ids(path: Path, queries: Mapping[str, Any], side: str) -> list[str]:
    ids = queries.get(side)
    if not isinstance(ids, list) or not all(isinstance(query, str) for query in ids):
        raise invalid(path, f"queries.{side}", "a list of ids, as texts")
    return ids
