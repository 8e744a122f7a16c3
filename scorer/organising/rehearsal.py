"""Rehearsal: invented teams hand in to a copy of a challenge while its dates pass, and what its organiser would regret.

The copy has its own database and folders of submissions. Files of the challenge itself are only read.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from operator import attrgetter
from pathlib import Path

from scorer.board.board import Board
from scorer.board.build import board as built_board
from scorer.errors import ChallengeError, ScorerError, os_errors_as
from scorer.files import chunks_of
from scorer.files.writing import temporary_folder
from scorer.lists.conversion import convert
from scorer.lists.solution import Solution, read_ids
from scorer.live.entries import entries, scored_entries
from scorer.live.names import as_public
from scorer.live.now import Now
from scorer.live.timeline import timeline
from scorer.organising.commitment import commit, reveal
from scorer.organising.doctor import number_in_state
from scorer.organising.files import UploadInProgress, submission_files
from scorer.organising.render import boards, render
from scorer.organising.run import carry_out, plan
from scorer.rules.quota import unused_limits
from scorer.scoring.executors.base import Serial
from scorer.settings.tracks import Challenge, Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import counted, quoted

TEAMS = [f"invented-team-{number}" for number in range(1, 6)]
"""From the worst to the best."""

BEST, SAME = "invented-best-possible", "invented-same-list"
"""Baselines of a rehearsal: the best lists, and for every query the items that are relevant most often."""

_DAY = timedelta(days=1)


@dataclass
class Rehearsal:
    """A copy of a challenge on the way through its dates."""

    real: Challenge
    copy: Challenge
    store: Store
    site: Path | None
    times: list[datetime]
    """The dates until now, after a time before them. The last one is the time by the clock of the store."""
    relevant: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """By track: the relevant items of each query, the best first."""
    items: dict[str, Sequence[str]] = field(default_factory=dict)
    """By track: what lists consist of."""
    arrivals: dict[datetime, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """All dates. When teams hand in: the tracks, and the number of the entry; 0 is that of baselines."""

    def __post_init__(self) -> None:
        begin = self.times[-1] + _DAY
        for track in self.real.tracks:
            solution = Solution.of_file(track.solution_path, track.solution_format)
            self.relevant[track.name] = {
                query: [item for item, grade in sorted(grades.items(), key=lambda pair: -pair[1]) if grade > 0]
                for query, grades in zip(solution.lookup.number, solution.lookup.grades, strict=True)
            }
            items = read_ids(track.files["items"]) if "items" in track.files else solution.items
            self.items[track.name] = items.to_pylist()
            times = [begin] if track.phases else [begin, begin + _DAY, begin + 2 * _DAY]
            for phase in track.phases:
                shown_for = (phase.frozen_from or phase.end) - phase.start
                times += [phase.start + shown_for / 3, phase.start + shown_for * 2 / 3]
                times += [phase.frozen_from + phase.freeze / 2] if phase.frozen_from else []
                for at in (phase.start, phase.frozen_from or phase.end, phase.end, phase.closes):
                    self.arrivals[at] |= {}
            for number, at in enumerate(times):
                self.arrivals[at.replace(microsecond=0)][track.name] = number
        self.arrivals[max(self.arrivals) + _DAY] = {}

    def dates(self) -> Iterator[tuple[datetime, list[str]]]:
        """Let time pass; yields each date with lines: what happens, what visitors see, and the page of the site."""
        first, last, said = min(self.arrivals), max(self.arrivals), set[str]()
        for at in sorted(self.arrivals):
            self.times.append(at)
            if at == last:
                self._end()
            for name, number in self.arrivals[at].items():
                self._hand_in(self.real.track(name), number)
            notes = [*self._run()]
            if at == first and all(track.phases for track in self.copy.tracks):
                commit(self.copy, self.store)
            lines = self.store.read(self._happened)
            if self.site is not None:
                folder = self.site / f"{len(self.times) - 1:02}-{at:%Y%m%dT%H%M%SZ}"
                rendered = render(self.copy.model_copy(update={"site": str(folder)}), self.store)
                lines.append(str(rendered.index))
                notes += rendered.notes
            yield at, [*lines, *(f"note: {text}" for text in dict.fromkeys(notes) if text not in said)]
            said.update(notes)

    def _hand_in(self, track: Track, number: int) -> None:
        """Put files into the folder of a track: the entries of the teams with a number, or those of the baselines."""
        relevant, lists = self.relevant[track.name], dict[str, Mapping[str, Sequence[str]]]()
        for place, team in enumerate(TEAMS if number else ()):
            quality = min(0.9, 0.1 + 0.15 * place + 0.03 * number)
            lists[f"{team}/invented-{number}.txt"] = self._lists(track, quality, f"{team} {number}")
        if number == 0:
            counts = Counter(item for items in relevant.values() for item in items)
            most = [item for item, _ in counts.most_common(track.list_length)]
            lists[f"{BEST}/lists.txt"] = self._lists(track, 1, BEST)
            lists[f"{SAME}/lists.txt"] = dict.fromkeys(relevant, tuple(most))
            for file in submission_files(track).files.values() if isinstance(track.submissions_path, Path) else ():
                if file.team in track.baselines:
                    with os_errors_as(ChallengeError, f"{file.path}: cannot be read"), file.path.open("rb") as stream:
                        self._put(track, file.file.partition("/")[2], b"".join(chunks_of(stream)))
        for name, listed in lists.items():
            written, form = BytesIO(), track.submission_format or "jsonl"
            try:
                convert(listed, written, kind="submission", target_format=form)
            except ScorerError as error:
                raise ChallengeError(f"{track.name}: no entry can be invented in the format {form}: {error}") from error
            self._put(track, name, written.getvalue())

    def _lists(self, track: Track, quality: float, seed: str) -> Mapping[str, Sequence[str]]:
        """Lists with about this share of the relevant items, which are the higher up the higher it is."""
        chance, lists, items = random.Random(seed), {}, self.items[track.name]  # noqa: S311 (nothing secret)
        length = min(track.list_length, len(items), 100)  # so that a rehearsal takes a minute
        for query, relevant in self.relevant[track.name].items():
            listed = [(chance.random() * (1 - quality), item) for item in relevant if chance.random() < quality]
            listed += [(chance.random(), item) for item in chance.sample(items, length)]
            listed.sort(key=lambda pair: pair[0])  # the best lists keep the order of the grades
            lists[query] = [*dict.fromkeys(item for _, item in listed)][:length]
        return lists

    def _put(self, track: Track, name: str, content: bytes) -> None:
        """Write a file that is received now, and its metadata."""
        file = Path(self.copy.track(track.name).submissions or "", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (self.times[-1].timestamp(),) * 2)
        if track.metadata:
            known = {"number": "1", "yes-no": "yes", "url": "https://invented.example.org/", "text": "invented"}
            stated = {each.name: known.get(each.type) or each.choices[0] for each in track.metadata}
            file.with_name(f"{file.name}.meta.yaml").write_text(json.dumps(stated), encoding="utf-8")

    def _run(self) -> Iterator[str]:
        """Do what `scorer run` does with each track; yields what it says."""
        for track in self.copy.tracks:
            work = plan(self.store, self.copy, track)
            skipped = [
                each for each in work.scanned.skipped if isinstance(each, UploadInProgress) or not each.is_ignored
            ]
            yield from map(str, (*work.notes, *skipped, *work.warnings))
            list(carry_out(self.store, work, Serial()))

    def _end(self) -> None:
        """What organisers do when all is over: they show the final scores, and reveal keys and the commitment."""
        tracks = tuple(each.model_copy(update={"stage": each.stage and "final"}) for each in self.copy.tracks)
        self.copy = self.copy.model_copy(update={"tracks": tracks})
        if all(track.phases for track in tracks) or any(track.split for track in tracks):
            reveal(self.copy, self.store, tracks)

    def _happened(self, view: Snapshot) -> list[str]:
        """What happened in public since the last date, and what visitors see of each track."""
        tracks, public = self.copy.tracks, as_public(view, self.copy.tracks)
        happened = sorted(timeline(public, tracks).happenings, key=attrgetter("at", "index"))
        new = [each for each in happened if each.at > self.times[-2]]
        lines = [f"{each.track}: {each.text}" if each.track else each.text for each in new]
        for track, board in zip(tracks, boards(public, tracks, pending=True), strict=True):
            states = Counter(entry.state for entry in entries(Now.of(view, track)).all if entry.team in TEAMS)
            listed = [number_in_state(states, state) for state in states] or ["no entries"]
            lines.append(f"{track.name}: {', '.join(listed)}; visitors see {_in_words(board)}")
        return lines

    # What the organiser would regret

    def regrets(self) -> list[str]:
        """What the organiser would regret, a sentence for each; complete once all dates have passed."""

        def read(view: Snapshot) -> list[str]:
            found = [*_about_page(self.real)]
            for track in self.real.tracks:
                unused = unused_limits(track.quota, track.phases, track.limits.files_per_team)
                texts = (*self._about_phases(view, track), *unused, *self._about_end(view, track))
                found += [f"{track.name}: {text}" for text in texts]
            return found

        return self.store.read(read)

    def _about_phases(self, view: Snapshot, track: Track) -> Iterator[str]:
        """Regrets about what teams hand in and see while they can."""
        copy = self.copy.track(track.name).model_copy(update={"stage": track.stage})
        moments = [Now.of(view.as_of(at), copy) for at in sorted(self.arrivals) if track.name in self.arrivals[at]]
        now = moments[-1].at_close().seen_by("organiser")
        board = built_board(now, view.cache(self.store.sidecar(self.real.root)))
        own = [entry for entry in entries(now).all if entry.team in TEAMS]
        if not any(entry.outcome == "scored" for entry in own):
            reasons = [str(problem) for entry in own for problem in entry.findings] or ["a note says why"]
            yield f"nobody can hand in a file like those of the invented teams: {reasons[0]}"
            return
        relevant = self.relevant[track.name].values()
        if outside := {item for items in relevant for item in items}.difference(self.items[track.name]):
            yield f"the list of items lacks {counted(len(outside), 'relevant item')}; add them"
        if 2 * (empty := sum(not items for items in relevant)) > board.queries:
            yield f"{empty:,} of {board.queries:,} queries have no relevant item, so no list for them counts"
        yield from _about_pairs(board)
        seen = {phase for each in moments for phase in _phases_seen(each)}
        for phase in track.phases:
            if phase.name not in seen:
                yield f"the phase {phase.name} shows nothing: no team sees a score while it can hand in again"
        if not seen or track.stage == "final":
            return
        if board.preliminary_queries in (0, board.scored_queries):
            yield "teams see final scores while they hand in, and may fit to them; flag queries, or set split"
        if not track.quota.limits_anything:
            yield "teams may try entries without end until a score is high by chance; set a quota"

    def _about_end(self, view: Snapshot, track: Track) -> Iterator[str]:
        """Regrets about what is there when all is over."""
        copy = self.copy.track(track.name)
        (visible,), board = boards(view, [copy]), built_board(Now.of(view, copy).seen_by("organiser"))
        scores = {row.team.folder: board.shown_scores(row.entry)[0] or 0.0 for row in reversed(board.rows) if row.entry}
        if all(visible.shown_scores(row.entry)[0] is None for row in visible.rows):
            yield "visitors see no score when all is over"
        if len({scores.get(team) for team in TEAMS}) < len(scores.keys() & set(TEAMS)):
            yield "invented teams with different lists have equal scores; take more decimals or queries"
        for name in (*track.baselines, SAME):
            what = "one list for all queries" if name == SAME else f"the baseline {name}"
            if name not in scores and name != SAME:
                yield f"{what} has no scored file, so the board shows nothing to beat"
            elif 0 < 0.95 * scores.get(BEST, 0.0) <= scores.get(name, 0.0):  # hardly anything is left to do
                yield f"{what} has {scores[name] / scores[BEST]:.0%} of the best possible score; make the task harder"


def _about_pairs(board: Board) -> Iterator[str]:
    if board.pairs and not any(pair.is_separable for pair in board.pairs):
        which = "" if board.lacks_preliminary else "preliminary "
        found = counted(board.preliminary_queries or board.scored_queries, f"{which}query", f"{which}queries")
        if board.primary_certainty and (clusters := board.primary_certainty.clusters):
            found += f" in {counted(clusters, 'cluster')}"
        yield f"no two invented teams, from the worst to the best, are separable by {found}; take more"


def _phases_seen(now: Now) -> Iterator[str | None]:
    """The phase of each entry of a team that shows it a score, if it is open; None without phases."""
    phase = now.phases.current(now.view.now)
    for entry in scored_entries(now.seen_by("team")).all:
        shown = {*entry.preliminary, *entry.final} - {None}
        if shown and entry.team in TEAMS and entry.phase == (phase and phase.name):
            yield entry.phase


def _in_words(board: Board) -> str:
    """What the board of a track shows, with the first three teams."""
    scores = ((row, board.shown_scores(row.entry)[0]) for row in board.rows if row.rank is not None)
    shown = [f"{row.name} {score:.{board.track.shown_decimals}f}" for row, score in scores if score is not None]
    stage = "" if board.lacks_preliminary else f"{board.track.shown_stage} "
    return f"{stage}{board.columns[0]}: {', '.join(shown[:3])}" if shown else "no scores"


def _about_page(challenge: Challenge) -> Iterator[str]:
    """Why nobody can hand in by a page."""
    service, nobody = challenge.branding.service, "nobody can hand in by a page"
    if not service and any(track.stage != "final" for track in challenge.tracks):
        yield f"{nobody}: [site] names no service; set its address, or say on a page how files arrive"
    if service.startswith("http://"):
        yield f"{nobody}: {service} is without TLS, and browsers keep no session then; use https://"
    for each in challenge.metadata:
        sent = [" ".join(choice.split()) for choice in each.choices]  # a form leaves out further blanks
        if each.required and sent and not any(map(each.choice_of, sent)):
            yield f"{nobody}: {each.name} is required, and no form can send {quoted(each.choices[0])}; remove blanks"


@contextmanager
def rehearsal(challenge: Challenge, site: Path | None) -> Iterator[Rehearsal]:
    """A copy of a challenge, which is removed at the end; the sites are kept in `site`, a new folder."""
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0) + _DAY
    starts = [phase.start for track in challenge.tracks for phase in track.phases] or [tomorrow]
    times = [min(starts).replace(microsecond=0) - 2 * _DAY]
    with temporary_folder() as folder:
        tracks = []
        for track in challenge.tracks:
            changed = {"submissions": str(folder / track.name), "baselines": (*track.baselines, BEST, SAME)}
            tracks.append(track.model_copy(update=changed))
        places = {"database": str(folder / "scores.db"), "site": str(folder / "site"), "tracks": tuple(tracks)}
        copy = challenge.model_copy(update={"name": f"Rehearsal: {challenge.name}", **places})
        with Store.open(copy.database_address, clock=lambda: times[-1]) as store:
            made = Rehearsal(challenge, copy, store, site, times)
            if site is not None:
                real = Path(os.path.realpath(site))
                if any(map(real.is_relative_to, (challenge.root.resolve(), challenge.site_path.resolve()))):
                    raise ChallengeError(f"{site}: is in the challenge, which is not changed; name a folder elsewhere")
                with os_errors_as(ChallengeError, f"{site}: cannot be made", "name a new folder"):
                    site.mkdir(0o700, parents=True)
            yield made
