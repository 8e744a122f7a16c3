"""Kept submissions: the bytes of what is scored are kept, so that it can be scored again without its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from scorer.limits import MB, Limits
from scorer.live.presence import present_digests
from scorer.organising.submission_files import SubmissionFile
from scorer.store.archive import Archive, SourceError, content_of
from scorer.store.records import Submission
from scorer.store.store import Store
from scorer.wording import printable_name

Found = tuple[SubmissionFile, Submission]
"""A submission with its file."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The bytes of the submissions of a challenge."""

    archive: Archive
    is_on: bool
    """Whether more are kept: `keep_submissions` of the challenge."""
    limits: Limits

    def file(self, submission: Submission) -> Found | None:
        """A submission with its kept bytes as its file; None if they are not kept."""
        if submission.digest not in self.archive:
            return None
        path = self.archive.file(submission.digest)
        return SubmissionFile(path, submission.file, submission.team, submission.received, None), submission

    @contextmanager
    def keeping(self, files: Collection[Found]) -> Iterator[Callable[[str], str]]:
        """Keep the bytes of files, in threads. Raises StoreError.

        Yields
        ------
        A function that waits for the bytes with a digest, and returns why they cannot be kept; empty if they are.
        """
        new = {each.digest: file for file, each in files if self.is_on and each.digest not in self.archive}
        if not new:
            yield lambda _: ""
            return
        pool, most = ThreadPoolExecutor(os.cpu_count() or 1), self.limits.file_mb * MB
        with self.archive.adding() as add:
            copies = {digest: pool.submit(add, content_of(file.path, most), digest) for digest, file in new.items()}

            def why_not(digest: str) -> str:
                try:
                    if digest in copies:
                        copies[digest].result()
                except SourceError as error:
                    return str(error)
                return ""

            try:
                yield why_not
            finally:
                pool.shutdown(cancel_futures=True)

    def keep(self, files: Collection[Found]) -> list[str]:
        """Keep the bytes of files; return which cannot be kept, and why. Raises StoreError."""
        with self.keeping(files) as why_not:
            return [
                f"{printable_name(submission.file)}: its bytes are not kept yet: {reason}"
                for _, submission in files
                if (reason := why_not(submission.digest))
            ]

    def tidy(self, store: Store) -> None:
        """Delete the bytes of submissions that were withdrawn or replaced before their phase closed. Raises StoreError.

        The bytes are listed first: what another run keeps meanwhile is recorded before it is kept.
        """
        if self.is_on and (stored := self.archive.digests()):
            self.archive.remove(set(stored) - store.read(present_digests))
