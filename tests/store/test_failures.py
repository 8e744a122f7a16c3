"""Failures, rejections by limits, bounded findings, and the cache of scanned files in the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scorer.errors import Findings, Problem
from scorer.limits import Limits
from scorer.live.entry import SubmissionState
from scorer.scoring.outcomes import Failed, FailureKind, Rejected, Summary
from scorer.store.events import Failure, ScannedFile
from scorer.store.store import Store
from tests.store.test_decisions import revision
from tests.store.test_store import (
    BASIS,
    OTHER_SETTINGS,
    add,
    entries,
    known_digests,
    opened,
    rejected,
    scored,
    submission,
)

FIRST = submission("first")


def stored(store: Store) -> SubmissionState:
    """The one submission."""
    (found,) = entries(store, "cold-start", BASIS)
    return found


def fail(store: Store, kind: FailureKind, reason: str = "it took too long") -> None:
    """Store a failure of the submission."""
    store.store_results([(FIRST.digest, Failed(reason, kind))], BASIS)


def test_failures_that_count_add_to_the_attempts(place: str) -> None:
    """A failure of the machine only replaces the kind and the reason."""
    with opened(place) as store:
        add(store, FIRST)
        assert stored(store).failure is None
        fail(store, "machine", "the disk is full")
        assert stored(store).failure == Failure("machine", "the disk is full", 0)
        fail(store, "time")
        fail(store, "lost", "its process died")
        assert stored(store).failure == Failure("lost", "its process died", 2)
        fail(store, "machine", "x" * 1000)
        assert stored(store).failure == Failure("machine", "x" * 297 + "...", 2)
        assert entries(store, "cold-start", OTHER_SETTINGS)[0].failure is None
        assert known_digests(store, BASIS) == frozenset()


@pytest.mark.parametrize("outcome", [scored().summary(), rejected()])
def test_a_result_ends_the_failures(place: str, outcome: Rejected) -> None:
    """And a later failure does not replace it."""
    with opened(place) as store:
        add(store, FIRST)
        fail(store, "memory")
        store.store_results([(FIRST.digest, outcome)], BASIS)
        assert stored(store).failure is None
        before = revision(store)
        fail(store, "memory")
        assert stored(store).failure is None
        assert stored(store).result is not None
        assert revision(store) == before


def test_a_retry_forgets_the_attempts(place: str) -> None:
    """Of the named submissions or of all, by one basis; without any, nothing is written."""
    second = submission("second")
    with opened(place) as store:
        for each in (FIRST, second):
            add(store, each)
            for basis in (BASIS, OTHER_SETTINGS):
                store.store_results([(each.digest, Failed("too long", "time"))], basis)
        assert store.retry(BASIS, [FIRST.digest, "e" * 64]) == 1
        assert {each.submission: each.failure is None for each in entries(store, "cold-start", BASIS)} == {
            FIRST: True,
            second: False,
        }
        assert store.retry(BASIS) == 1
        before = revision(store)
        assert (store.retry(BASIS), store.retry(BASIS, []), revision(store)) == (0, 0, before)
        assert all(each.failure for each in entries(store, "cold-start", OTHER_SETTINGS))
        assert store.retry(OTHER_SETTINGS, None) == 2


def test_another_limit_voids_a_rejection_by_it(place: str) -> None:
    """Other rejections and other results stay; without one to void, nothing is written."""
    with opened(place) as store:
        outcomes: dict[str, Summary | Rejected] = {
            "long line": Rejected(Findings([Problem.of_form(1, "too long")], 1), {"line_mb": Limits().line_mb}),
            "no colon": rejected(),
            "fine": scored().summary(),
        }
        digests = {name: submission(name).digest for name in outcomes}
        store.store_results([(digests[name], outcome) for name, outcome in outcomes.items()], BASIS)
        before = revision(store)
        assert store.void_rejections(BASIS, Limits()) == 0
        assert store.void_rejections(BASIS, replace(Limits(), file_mb=1)) == 0
        assert revision(store) == before
        assert store.void_rejections(OTHER_SETTINGS, replace(Limits(), line_mb=1)) == 0
        assert store.void_rejections(BASIS, replace(Limits(), line_mb=1)) == 1
        assert known_digests(store, BASIS) == {digests["no colon"], digests["fine"]}


def test_findings_are_bounded(place: str) -> None:
    """At most 20 are stored, of 300 characters each; all are counted."""
    findings = Findings([Problem.of_form(line, f"{line}" + "é" * 500) for line in range(1, 41)], 1000)
    with opened(place) as store:
        add(store, FIRST)
        store.store_results([(FIRST.digest, Rejected(findings))], BASIS)
        result = stored(store).result

    assert result is not None
    assert (len(result.findings.shown), result.findings.count) == (20, 1000)
    assert {len(each.text) for each in result.findings} == {300}
    assert result.findings.shown[0].text.endswith("é...")


# Scanned files

SCANNED = ScannedFile(10, 10**20, 2**63, 2**64 - 1, 3, "d" * 64)


def test_scanned_files_come_back(place: str) -> None:
    """By track and name; names that are no text, and those that print alike, stay different."""
    names = ["caf\udce9", "caf\\udce9", "caf\u00e9", "a\\b", 'a"b', "a\\\\b"]
    files = {name: replace(SCANNED, size=size) for size, name in enumerate(names)}
    with Store.open(place) as store:
        assert store.read(lambda view: view.scanned_files("main")) == {}
        store.store_scanned_files("main", {}, files)
        store.store_scanned_files("other", {}, {"x": SCANNED})
        assert store.read(lambda view: view.scanned_files("main")) == files
        assert store.read(lambda view: view.scanned_files("other")) == {"x": SCANNED}


def test_only_differences_between_scans_are_written(place: str) -> None:
    """What is gone is deleted, what changed is replaced, and nothing is written if nothing differs."""
    first = {"a": SCANNED, "b": SCANNED, "c": SCANNED}
    with Store.open(place) as store:
        store.store_scanned_files("main", {}, first)
        after = {"a": SCANNED, "b": replace(SCANNED, mtime_ns=5), "d": SCANNED}
        store.store_scanned_files("main", first, after)
        assert store.read(lambda view: view.scanned_files("main")) == after
        before = revision(store)
        store.store_scanned_files("main", after, dict(reversed(after.items())))
        assert revision(store) == before
        store.store_scanned_files("main", after, {})
        assert store.read(lambda view: view.scanned_files("main")) == {}


def test_the_cache_of_scanned_files_is_on_no_page(tmp_path: Path) -> None:
    """It adds no entry."""
    with opened(tmp_path / "scores.db") as store:
        add(store, FIRST)
        before = entries(store, "cold-start", BASIS)
        store.store_scanned_files("cold-start", {}, {"other": SCANNED})
        assert entries(store, "cold-start", BASIS) == before
