"""Run a simulated challenge: 3 months, 2 tracks with 3 phases each, 60 teams and about 2,500 files.

    python example/season.py FOLDER                 write the challenge, run it through, and render its site
    python example/season.py FOLDER --size small    the same with 12 teams and 200 files
    python example/season.py FOLDER --days 40       stop after 40 days

`example/season_plan.py` draws what happens from a seed. This script carries it out with the functions of scorer, with
a simulated clock: files arrive in `submissions/`, runs import and score them, and the organiser decides.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from example.season_plan import FIRST_RUN, Grades, Season, Step, TrackPlan, season
from scorer.errors import ChallengeError
from scorer.organising import errata, phases, teams
from scorer.organising.commitment import reveal
from scorer.organising.picks import amend, forget, pick
from scorer.organising.render import render
from scorer.organising.run import Rendered, carry_out, plan
from scorer.scoring.executors.base import Serial
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge, Track
from scorer.store.store import Store

SIZES: Mapping[str, Mapping[str, int]] = {
    "small": {"teams": 12, "files": 200, "runs": 20},
    "full": {"teams": 60, "files": 2500, "runs": 47},
}


class Simulation:
    """A season that is carried out in a folder, step by step."""

    def __init__(self, planned: Season, folder: Path) -> None:
        self.plan = planned
        self.folder = folder
        self.now = FIRST_RUN - timedelta(days=1)
        self.done = 0
        """How many steps are carried out."""
        write_challenge(planned, folder)

    @contextmanager
    def opened(self) -> Iterator[tuple[Challenge, Store]]:
        """The challenge and its database, with the simulated clock."""
        challenge = read_challenge(self.folder)
        with Store.open(challenge.database_address, clock=lambda: self.now) as store:
            yield challenge, store

    def until(self, moment: datetime) -> None:
        """Carry out the steps until a moment, itself included."""
        with self.opened() as (challenge, store):
            while self.done < len(self.plan.steps) and self.plan.steps[self.done].at <= moment:
                step = self.plan.steps[self.done]
                self.now = step.at
                if not self._happens_in_the_folder(step):
                    self._decide(step, challenge, store)
                self.done += 1
        self.now = moment

    def render(self) -> Rendered:
        """Render the site."""
        with self.opened() as (challenge, store):
            return render(challenge, store, pending=True)

    def _happens_in_the_folder(self, step: Step) -> bool:
        file = self.folder / "submissions" / step.file
        match step.kind:
            case "file":
                write(file, self.plan.contents[step.content].text, step.time)
            case "upload":
                write(file.with_name(f".{file.name}"), self.plan.contents[step.content].text, step.time)
            case "complete":
                file.with_name(f".{file.name}").rename(file)
            case "delete":
                file.unlink()
            case "solution":
                track = self.plan.track(step.track)
                text = solution_text(track, track.solutions[step.content])
                write(self.folder / "solutions" / f"{track.name}.txt", text, step.at)
            case _:
                return False
        return True

    def _decide(self, step: Step, challenge: Challenge, store: Store) -> None:
        if step.kind in TEAM_DECISIONS:
            TEAM_DECISIONS[step.kind](challenge, store, step.team, step.text)
            return
        track = challenge.track(step.track) if step.track else challenge.tracks[0]
        match step.kind:
            case "run":
                self.now = step.time
                run(challenge, store)
            case "pick":
                with suppress(ChallengeError):  # an entry that never counts is refused
                    pick(challenge, store, step.files)
            case "amend":
                amend(challenge, store, step.file, step.time, step.text)
            case "forget":
                forget(challenge, store, step.file, step.text)
            case "extend":
                phases.extend(challenge, store, track.name, step.text, step.time, "The server was not reachable.")
            case "reveal":
                list(reveal(challenge, store, [track]))
            case _:
                self._change_rules(step, challenge, store, track)

    def _change_rules(self, step: Step, challenge: Challenge, store: Store, track: Track) -> None:
        match step.kind:
            case "preview":
                errata.preview_erratum(challenge, store, track, Serial())
            case "apply":
                errata.apply(challenge, store, track, step.text, Serial())
            case "cancel":
                errata.cancel(store, track)
            case _:
                raise ValueError(step.kind)


def merge(challenge: Challenge, store: Store, team: str, into: str) -> None:
    """Merge a team into another one."""
    teams.merge(challenge, store, team, into, "They work together.")


TEAM_DECISIONS: Mapping[str, Callable[[Challenge, Store, str, str], None]] = {
    "rename": teams.rename,
    "merge": merge,
    "unmerge": teams.unmerge,
    "disqualify": teams.disqualify,
    "withdraw": teams.withdraw,
    "reinstate": teams.reinstate,
}
"""By kind of a step: what decides about a team, given a name, a reason, or the other team."""


def run(challenge: Challenge, store: Store) -> None:
    """Import and score all tracks, as `scorer score` does."""
    teams.import_teams(challenge, store)
    for track in challenge.tracks:
        work = plan(store, challenge, track, confirm_withdrawals=True)
        for _ in carry_out(store, work, Serial()):
            pass
    teams.import_teams(challenge, store)


# The files of the challenge


def write(file: Path, text: str, changed: datetime) -> None:
    """Write a file that was last changed at a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    os.utime(file, (changed.timestamp(), changed.timestamp()))


def write_challenge(planned: Season, folder: Path) -> None:
    """Write the settings, the solutions and the key into a new folder."""
    folder.mkdir(parents=True)
    tables = [track_table(track) for track in planned.tracks]
    (folder / "challenge.toml").write_bytes("\n".join(['name = "A simulated season"\n', *tables]).encode())
    for track in planned.tracks:
        (folder / "submissions" / track.name).mkdir(parents=True)
        write(folder / "solutions" / f"{track.name}.txt", solution_text(track, track.solutions[0]), FIRST_RUN)
        if track.key is not None:
            key = folder / f"{track.name}.key"
            key.write_text(f"{track.key.hex()}\n", encoding="ascii")
            key.chmod(0o600)


def solution_text(track: TrackPlan, grades: Grades) -> str:
    """A solution, one query a line: `query:flag:item|grade,...`."""
    lines = (
        f"{query}:{int(query in track.preliminary)}:{','.join(f'{item}|{grade}' for item, grade in items.items())}\n"
        for query, items in grades.items()
    )
    return "".join(lines)


def track_table(track: TrackPlan) -> str:
    """The table of a track in challenge.toml."""
    quota = track.quota
    lines = [
        f"[tracks.{track.name}]",
        f'title = "The track {track.name}"',
        f'solution = "solutions/{track.name}.txt"',
        f"list_length = {track.list_length}",
        f"cutoffs = {list(track.cutoffs)}",
        'primary = "MARp"',
        'measures = ["nDCG@5"]',
        f"decimals = {track.decimals}" if track.decimals is not None else 'decimals = "auto"',
        f'entry = "{track.entry}"',
        *([f"picks = {track.picks}"] if track.entry == "picks" else []),
        "late_board = true",
        f"baselines = {list(track.baselines)}".replace("'", '"'),
        f'quota = {{zone = "{quota.zone}", per_day = {quota.per_day}, per_phase = {quota.per_phase}, '
        f"total = {quota.total}, rejected_per_day = {quota.rejected_per_day}}}",
    ]
    if track.key is not None:
        lines.append(f'split = {{preliminary = {track.share}, key_file = "{track.name}.key"}}')
    for phase in track.phases:
        lines += [
            "",
            f"[[tracks.{track.name}.phases]]",
            f'name = "{phase.name}"',
            f"start = {phase.start.isoformat()}",
            f"end = {phase.end.isoformat()}",
            f'grace = "{int(phase.grace.total_seconds())}s"',
            f'freeze = "{int(phase.freeze.total_seconds())}s"',
            f'shows = "{phase.shows}"',
            *([f"ladder_step = {phase.ladder_step}"] if phase.ladder_step else []),
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write and run a season; return the exit code."""
    parser = argparse.ArgumentParser(description="Run a simulated challenge of three months in a new folder.")
    parser.add_argument("folder", type=Path, help="the folder of the challenge, which is created")
    parser.add_argument("--seed", type=int, default=20270128)
    parser.add_argument("--days", type=int, help="how many days to simulate; default: all")
    parser.add_argument("--size", choices=tuple(SIZES), default="full")
    parser.add_argument("--replace", action="store_true", help="delete the folder first, if it exists")
    arguments = parser.parse_args()
    if arguments.replace:
        shutil.rmtree(arguments.folder, ignore_errors=True)
    if arguments.folder.exists():
        print(f"{arguments.folder}: exists; choose another folder, or --replace", file=sys.stderr)
        return 2
    planned = season(arguments.seed, **SIZES[arguments.size])
    simulation = Simulation(planned, arguments.folder)
    days = arguments.days
    simulation.until(planned.steps[-1].at if days is None else FIRST_RUN + timedelta(days=days))
    print(f"{simulation.done:,} of {len(planned.steps):,} steps until {simulation.now.isoformat()}")
    print(simulation.render().index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
