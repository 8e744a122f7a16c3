"""The checks of a challenge's database and of the files that it refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scorer.challenge.settings import Challenge, Track
from scorer.organising.submission_files import SubmissionFile, submission_files
from scorer.paths import digest
from scorer.store.integrity import derived_problems, file_problems, record_problems
from scorer.store.schema import SCHEMA_VERSION, storable
from scorer.store.store import Store


@dataclass(frozen=True, slots=True)
class Check:
    """One check and the problems that it found."""

    name: str
    problems: tuple[str, ...]
    """What was found and what to do, a sentence each."""


def examine(challenge: Challenge, store: Store) -> Iterator[Check]:
    """Check the database of a challenge: each check as soon as it is done.

    Raises StoreError if the database cannot be read at all.
    """
    yield _check(f"schema: version {SCHEMA_VERSION}", ())
    yield _check("integrity: the file of the database is whole", file_problems(store.database))
    yield _check("record: the events are complete", store.read(lambda view: list(record_problems(view))))
    yield _check("results: solutions, results and their keys can be read", derived_problems(store))
    yield _check("solutions: the bytes of every basis are stored", _solution_problems(challenge, store))
    for track in challenge.tracks:
        yield _check(f"{track.name}: the recorded files are present and unchanged", _file_problems(store, track))


def _check(name: str, problems: Iterable[str]) -> Check:
    return Check(name, tuple(problems))


def _solution_problems(challenge: Challenge, store: Store) -> Iterator[str]:
    archive = store.archive(challenge.root)
    wanted = {
        event.body["solution"]: event for event in store.read(lambda view: view.events()) if event.kind == "basis"
    }
    for solution, event in sorted(wanted.items()):
        path = archive.path(solution)
        try:
            found = digest(path)
        except OSError as error:
            if event.at is None:
                continue  # schema 1 did not store the bytes
            yield (
                f"{path}: {error.strerror}; copy the solution with this SHA-256 there from a backup, or the track "
                f"{event.track} cannot be scored by it again"
            )
            continue
        if found != solution:
            yield f"{path}: has the SHA-256 {found[:12]}...; replace it by the solution with the SHA-256 {solution}"


def _file_problems(store: Store, track: Track) -> Iterator[str]:
    listed = {storable(each.file): each for each in submission_files(track) if isinstance(each, SubmissionFile)}
    for state in store.read(lambda view: view.submissions(track.name)):
        if not state.present:
            continue
        submission = state.submission
        if submission.file not in listed:
            yield f"{submission.file}: is recorded and missing; restore it, or `scorer run` records its withdrawal"
            continue
        try:
            changed = digest(listed[submission.file].path) != submission.digest
        except OSError as error:
            yield f"{submission.file}: cannot be read ({error.strerror}); make it readable"
            continue
        if changed:
            yield f"{submission.file}: has changed since it was recorded; `scorer run` scores the new content"
