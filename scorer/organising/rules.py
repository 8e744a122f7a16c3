"""What the entries of a track are scored by: the rules, the solution, and where their bytes are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from scorer.errors import ChallengeError, Findings, SolutionError
from scorer.files import Location, digest, is_regular
from scorer.limits import OWN_FILES, Limits
from scorer.live.entries import Entries, entries
from scorer.live.entry import track_digests
from scorer.live.now import Now
from scorer.live.rules import changed_names, file_changes, list_digest, recorded_settings, rule_of, with_rules
from scorer.organising.phases import check_preliminary
from scorer.record.log import encoded
from scorer.scoring.outcomes import RENAMED_GENERATION, Rules, check_corrected, check_gains
from scorer.settings.tracks import SOLUTION_KEYS, Track, split_of
from scorer.store.events import Basis, BasisBody, StoredQueries
from scorer.store.sidecar import Archive
from scorer.store.snapshot import Means, Snapshot
from scorer.store.store import GENERATIONS, Store
from scorer.wording import counted, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution


@dataclass(frozen=True)
class RuleSet:
    """A track with its rules, and the files that they need."""

    track: Track
    files: Mapping[str, Location]
    """The solutions, and the lists of candidate items and of excluded ones, by the keys of the track."""
    digests: Mapping[str, str]
    """The SHA-256 of each of these files."""
    archive: Archive
    """Has the bytes of the files that rules were recorded with."""

    @classmethod
    def of(cls, view: Snapshot, track: Track, store: Store) -> RuleSet:
        """The rules of challenge.toml, with the solution and the lists of items that are there now."""
        track = Now.of(view, track).declared
        digests = {key: digest for key in ("items", "exclude") if (digest := list_digest(track, key))}
        digests |= {key: _digest_of_solution(path) for key, path in reversed(track.solution_paths.items())}
        return cls(track, {key: track.files[key] for key in digests}, digests, store.archive(track.root))

    def by(self, recorded: BasisBody) -> RuleSet:
        """The rules of a recorded basis, with the bytes that were archived then; the track decides what is no rule."""
        digests = {key: digest for key, digest in {**recorded.files, "exclude": recorded.excluded}.items() if digest}
        files = {key: self.archive.path(digest) for key, digest in digests.items()}
        return RuleSet(with_rules(self.track, recorded), files, digests, self.archive)

    def in_force(self, view: Snapshot) -> RuleSet:
        """What entries are scored by: these rules, until a commitment or the start of a phase has fixed others."""
        now = Now.of(view, self.track)
        return self.by(now.recorded) if now.recorded is not None and now.are_rules_fixed else self

    @cached_property
    def rules(self) -> Rules:
        return Rules.of(self.track, *map(self.digests.get, ("items", "exclude", "checked")))

    @cached_property
    def basis(self) -> Basis:
        return Basis.of(self.digests["solution"], self.rules, split_of(self.track))

    @cached_property
    def settings(self) -> Mapping[str, object]:
        return recorded_settings(self.track, self.digests.get("exclude"))

    def read_solution(self, limits: Limits = OWN_FILES) -> Solution:
        """The solution, with the candidate items and the excluded ones, from files within these limits.

        Raises SolutionError if the solution or the excluded items are invalid or cannot be read, ChallengeError if the
        list of items cannot be read, and MeasureError if the gains of a measure are too large for the grades.
        """
        from scorer.lists.solution import (  # noqa: PLC0415 (Arrow is slow to load)
            NO_ITERATIONS,
            Solution,
            excluded,
            read_ids,
        )

        def graded(key: str) -> Solution:
            path = self.files[key]
            solution = Solution.of_file(path, self.track.solution_format, self.digests[key], limits)
            if key == "solution" and path != self.track.solution_path:  # a recorded solution stays valid
                solution = solution.with_parts(iterations=NO_ITERATIONS)
            check_gains(solution, self.rules.measures, str(path))
            return solution

        solution = graded("solution")
        solution = solution.with_parts(excluded=excluded(self.files.get("exclude", self.track.exclude), limits))
        if "checked" in self.files:
            solution = solution.with_checked(graded("checked"), str(self.files["checked"]))
        items = self.files.get("items")
        return solution if items is None else solution.with_candidates(read_ids(items, limits))

    def checked_solution(self) -> Solution:
        """The solution, compared with the public list of queries and the settings for preliminary scores.

        Its bytes and those of the lists of items are kept.
        """
        solution = self.read_solution()
        self._compare_queries(solution)
        check_preliminary(self.track, self.basis, queries_of(solution))
        if solution.checked is not None:
            flagged = self.basis.flags(queries_of(solution))
            path = str(self.files["checked"])
            solution.with_checked(solution.checked, path, flagged)
            check_corrected(solution, solution.checked, self.rules.measures, flagged, path)
        for key, sha256 in self.digests.items():
            self.archive.add(self.files[key], sha256)
        return solution

    def store_solution(self, store: Store, solution: Solution) -> StoredQueries:
        """Store the solution, as `read_solution` returns it; return its queries."""
        queries = queries_of(solution)
        store.store_solution(self.digests["solution"], queries.ids, queries.flagged, solution.ideal)
        if solution.checked is not None:
            checked = queries_of(solution.checked)
            store.store_solution(self.digests["checked"], checked.ids, checked.flagged, solution.checked.ideal)
        return queries

    def is_stored(self, view: Snapshot) -> bool:
        """Whether a run has stored the solution, so that arrivals can be scored."""
        return {self.digests[key] for key in SOLUTION_KEYS if key in self.digests} <= {*view.solution_digests()}

    def missing_means(self, view: Snapshot) -> list[tuple[str, Means]]:
        """The means by these rules that the results of the track lack, for `Store.store_means`."""
        return view.missing_means(self.basis, partial(track_digests, view, self.track.name), self.rules.measures)

    def entries(self, view: Snapshot) -> Entries:
        """The entries of the track by these rules, without scores."""
        return entries(Now.of(view, self.track).by(self.track, self.basis))

    def _compare_queries(self, solution: Solution) -> None:
        """Refuse a public list that lacks queries: a file that passes the participant's check could lack them too."""
        public_list = self.track.files.get("queries")
        if public_list is None:
            return
        from scorer.lists.solution import Solution  # noqa: PLC0415 (Arrow is slow to load)

        public = set(Solution.read_queries(public_list).queries.to_pylist())
        lacking = [query for query in solution.queries.to_pylist() if query not in public]
        if lacking:
            raise ChallengeError(
                f"{public_list}: lacks {counted(len(lacking), 'query', 'queries')} of the solution, such "
                f"as {quoted(lacking[0])}; add them, because participants check their files by this list"
            )

    @cached_property
    def recorded(self) -> BasisBody:
        """The basis as it is recorded, without a time."""
        generations = dict(GENERATIONS)
        if self.track.has_earlier_names:  # such a track goes on with the measures that it was recorded with
            generations["measures"] = RENAMED_GENERATION - 1
        return BasisBody.of(self.basis, self.settings, generations, self.digests.get("items"))

    def differences(self, other: RuleSet) -> tuple[str, ...]:
        """What differs from other rules, as `changed_names` returns it."""
        return changed_names(self.recorded, other.recorded)


ABOUT_FILES = frozenset({"description", "solution", "checked", "queries", "items", "submissions"})
"""Recorded settings that say where something is, or are texts: they decide nothing."""


def differing_settings(rules: RuleSet, recorded: BasisBody) -> list[str]:
    """The names of settings and files that are not those of a recorded basis."""
    if recorded.settings is None:  # schema 1 recorded it
        return list(rules.differences(rules.by(recorded)))
    both = (json.loads(encoded(rules.settings)), recorded.settings)
    # A key that the record lacks has its default, or is newer than the record.
    defaults = {name: field.default for name, field in Track.model_fields.items()}
    names = [
        name
        for name in sorted((both[0].keys() | both[1].keys()) - ABOUT_FILES)
        if len({encoded({"": rule_of({name: defaults.get(name)} | each, name)}) for each in both}) > 1
    ]
    return names + [name for name, _, _ in file_changes(recorded, rules.recorded)]


def _digest_of_solution(path: Location) -> str:
    findings = Findings()
    try:
        if is_regular(path):
            return digest(path)
        findings.add(0, "not a regular file" if path.exists() else "no such file")
    except OSError as error:
        findings.add(0, f"cannot be read: {error.strerror}")
    raise SolutionError(str(path), findings)


def queries_of(solution: Solution) -> StoredQueries:
    """The queries of a solution, as the store has them."""
    return StoredQueries(solution.queries.to_pylist(), solution.flagged)
