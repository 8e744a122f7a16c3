"""The public archive of a challenge that is over, from which anybody derives its boards, and the check that does so.

docs/verification-spec.md specifies the archive, so that nobody needs this package for the check.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from scorer import __version__
from scorer.board.overall import overall_board, overall_csv, overall_json
from scorer.board.site.pages import LOG, commitment_files, track_data
from scorer.board.site.templates import STATIC_FOLDER
from scorer.errors import ChallengeError, ScorerError
from scorer.files.writing import temporary_folder
from scorer.limits import MB, most_expanded
from scorer.live.commitment import COMMITMENT, OPENING, RECEIPTS, published_commitment, receipts
from scorer.live.entry import present_digests
from scorer.live.names import names_until
from scorer.live.now import Now, PublishedLog, decides, published_log, submissions_of
from scorer.live.phases import is_revealed
from scorer.live.rules import shown_from
from scorer.live.timeline import timeline
from scorer.measures.names import in_version_1_0
from scorer.organising.bundles import (
    Content,
    Exported,
    challenge_files,
    challenge_in,
    opened_database,
    solution_files,
    store_members,
    submitted_files,
    write_members,
    write_new,
)
from scorer.organising.commitment import check_over
from scorer.organising.render import boards
from scorer.organising.rules import RuleSet
from scorer.organising.run import complete_means
from scorer.organising.watch import Queue, Sources, score
from scorer.scoring.outcomes import Failed
from scorer.settings.published import download, portable
from scorer.settings.rules import split_of
from scorer.settings.tracks import FILE, Challenge, Track
from scorer.store.events import EVERY_TRACK, INVALID, recorded_basis
from scorer.store.log import LogLine, encoded, event_text, leaf_of, nonce_of
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.store.transfer import EVENTS as EVENT_TABLE
from scorer.store.transfer import SCHEMA, dumped, load
from scorer.verification.bundle import (
    CHALLENGE,
    PUBLIC,
    SOLUTIONS,
    SUBMISSIONS,
    Bundle,
    opened_bundle,
    verified_members,
)
from scorer.verification.commitment import forged, read_key, verified_commitment, verified_split
from scorer.verification.log import KnownHead, Verified, listed, read_log, verified_log
from scorer.wording import counted, quoted

ARCHIVE = "challenge-archive.zip"
PLACE = f"{STATIC_FOLDER}/{ARCHIVE}"
"""Where the site has the archive: an organiser writes it into the folder of files that a render copies."""

EVENTS, SIGNED = f"{PUBLIC}events.jsonl", f"{PUBLIC}receipts.jsonl"

RESULT_TABLE = "result"
RESULTS = f"tables/{RESULT_TABLE}.jsonl"

LARGEST = 100_000 * MB

KEYS = ("name", "licence", "publish_submissions", "limits", "metadata", "overall", "visibility", "tracks")
PRIVATE_KEYS = ("description", "submissions", "ignore", "slices", "slices_public")
"""Keys of challenge.toml that the archive has, and keys of a track that it leaves out, because no score depends on
them.
"""

Opened = Mapping[int, Mapping[str, Any]]
"""The rows of events whose texts the archive has, by index: the text, its fields, and its nonce."""

BOARDS = ("leaderboard.json", "leaderboard.csv")
RANKING = 4
"""So many columns of a board are its ranks, its teams and their scores, without which nothing can be compared."""


def export_public(challenge: Challenge, store: Store, settings: Path, target: Path) -> Exported:
    """Write the public archive of a challenge that is over and revealed. The same state gives the same bytes.

    Raises ChallengeError if something is not public yet, or never.
    """
    if not challenge.licence:
        raise ChallengeError(
            f"{settings}: licence: is missing; the public archive needs the licence under which the submissions become "
            'public, or with publish_submissions = false the judged items in them, as in licence = "CC BY 4.0"; say so '
            "to the teams before the start"
        )
    moved = portable(settings, challenge)
    archive, kept = store.archive(challenge.root), store.kept_submissions(challenge.root)

    def members(view: Snapshot) -> Mapping[str, Content]:
        check_public(view, challenge)
        opened = [event for event in view.all_events if decides(event)]
        used = set(re.findall("[0-9a-f]{64}", " ".join(encoded(e.body) for e in opened if e.kind == "basis")))
        places = {place for (_, key), place in moved.places.items() if key not in ("submissions", "slices")}
        files = challenge_files(challenge, moved, solutions=True)
        found: dict[str, Content] = {name: files[name] for name in files if name.removeprefix(CHALLENGE) in places}
        solved = solution_files(archive)
        found |= {name: solved[name] for name in solved if name.removeprefix(SOLUTIONS) in used}
        published = challenge.publish_submissions
        submitted = submitted_files(view, challenge, archive, kept, everything=True) if published else {}
        needed = {f"{SUBMISSIONS}{digest}" for digest in present_digests(view) if published}
        gone = (name for name in needed - submitted.keys() if view.has_result(name.removeprefix(SUBMISSIONS)))
        if missing := listed("the bytes are gone of", sorted(gone)):
            raise ChallengeError(f"{missing}; the public archive has the bytes of every submission that was scored")
        needed &= submitted.keys()
        found |= {name: submitted[name] for name in needed}
        arrived = {f"{SUBMISSIONS}{event.body['digest']}" for event in opened if event.kind == "arrival"}
        found[RESULTS] = partial(_results, view, {name.removeprefix(SUBMISSIONS) for name in arrived - needed})
        key = view.secret("log")
        texts = {event.index: event_text(event) for event in opened}
        rows = [
            {"event": text.decode("ascii"), "index": index, "nonce": nonce_of(key, index, text).hex()}
            for index, text in texts.items()
        ]
        signed = receipts(view, challenge.name, {event.index for event in opened if event.kind == "arrival"})
        documents = {f"{PUBLIC}{name}": text for name, text in _documents(view, challenge).items()}
        documents[f"{CHALLENGE}{FILE}"] = _public_settings(moved.settings)
        documents[EVENTS] = "".join(f"{encoded(row)}\n" for row in rows)
        documents[SIGNED] = "".join(f"{encoded({'receipt': signed[index]})}\n" for index in sorted(signed))
        return found | {name: partial(_bytes, text) for name, text in documents.items()}

    exported = write_members(challenge, store, target, members)
    target.chmod(0o644)
    return exported


def _results(view: Snapshot, digests: set[str]) -> Iterator[bytes]:
    """The results of submissions without bytes; those that were withdrawn have their places of a quota."""
    used = {recorded_basis(event.body, event.at).basis.solution for event in view.all_events if event.kind == "basis"}
    for row in dumped(view, RESULT_TABLE):
        if row["submission_digest"] in digests and row["solution_digest"] in used:
            yield f"{encoded(row)}\n".encode()


def _bytes(text: str) -> list[bytes]:
    return [text.encode()]


def check_public(view: Snapshot, challenge: Challenge) -> None:
    """Raise ChallengeError if something that the public archive has is not public yet, or never."""
    revealed = {event.body.get("commitment") for event in view.all_events if event.kind == "reveal"}
    committed = [event.body["sha256"] for event in view.all_events if event.kind == "commitment"][-1:]
    for track in challenge.tracks:
        check_over(view, track)
        split = split_of(track)
        if (split is not None and not is_revealed(view, split)) or not revealed.issuperset(committed):
            raise ChallengeError(f"{track.name}: something is not revealed yet; `scorer reveal` reveals it")
        if hidden := sorted(Now.of(view, track).track.hidden):
            raise ChallengeError(
                f"{track.name}: the table [visibility] hides {', '.join(hidden)} from visitors, which the archive "
                "would show; so this challenge has no public archive"
            )
    if until := names_until(view, challenge.tracks):
        raise ChallengeError(
            f"the names of teams {'never become' if until == 'never' else 'are not'} public{shown_from(until)}, and "
            "events have them, whose hashes are in the log; so this challenge has no public archive"
        )
    for event in view.all_events:
        if event.kind == "metadata" and "never" in event.body["public"].values():
            raise ChallengeError(
                f"event {event.index} has metadata that never become public; an event is public as a whole, so this "
                "challenge has no public archive"
            )


def _public_settings(settings: bytes) -> str:
    """The part of challenge.toml that boards depend on, without its comments."""
    import tomlkit  # noqa: PLC0415 (only commands that write need it)

    document = tomllib.loads(settings.decode("utf-8-sig"))
    tracks = {
        name: {key: value for key, value in table.items() if key not in PRIVATE_KEYS}
        for name, table in document["tracks"].items()
    }
    return tomlkit.dumps({key: document[key] for key in KEYS if key in document} | {"tracks": tracks})


def _documents(view: Snapshot, challenge: Challenge, log: PublishedLog | None = None) -> dict[str, str]:
    """The files of the site that the archive has, by their paths; `log` is in the place of that of the record."""
    tracks, cache = challenge.tracks, view.cache()
    log = log or published_log(view, tracks)
    made = boards(view, tracks, cache, pending=True)
    errata = itertools.chain.from_iterable(timeline(view, tracks).errata.values())
    files = commitment_files(published_commitment(view, challenge, errata))
    files[LOG] = "".join(f"{line.text}\n" for line in log.lines)
    for board in made:
        data = track_data(challenge, board, log)
        names = (f"{board.track.name}/{name}" for name in (*BOARDS, "split.json"))
        files |= {name: data[name] for name in names if name in data}
    overall = overall_board(made, tracks, view, cache)
    if overall is not None:
        files |= {"overall/leaderboard.json": overall_json(overall, log.head)}
        files |= {"overall/leaderboard.csv": overall_csv(overall)}
    return files


def verified_challenge(source: str | Path, head: KnownHead | None = None) -> Iterator[Verified]:
    """Derive the boards of a challenge from its public archive, and compare them with the published ones.

    `source` is the archive, a folder with a copy of the site, or the address of the site. Yields each statement. Raises
    ScorerError if there is no archive.
    """
    source = re.sub("^(https?):/+", r"\1://", str(source))
    with temporary_folder(Path(tempfile.gettempdir())) as folder:
        path, is_site = folder / ARCHIVE, not source.endswith(".zip")
        if "://" in source:
            download(f"{source.rstrip('/')}/{PLACE}" if is_site else source, path, LARGEST)
        else:
            is_site = Path(source).is_dir()
            path = Path(source, PLACE) if is_site else Path(source)
        with opened_bundle(path) as bundle:
            for verified in verified_members(bundle):
                yield verified
                if verified.contradiction:
                    return
            for name in bundle.names(PUBLIC):
                write_new(folder / name, bundle.chunks(name))
            documents = folder / "public"
            if is_site:
                yield _same_site(bundle, source, documents, folder / "site")
            try:
                for verified in _derived(bundle, documents, folder, head):
                    yield replace(verified, contradiction=verified.contradiction.replace(f"{folder}/", ""))
            except (ScorerError, *INVALID) as error:
                reason = str(error).replace(f"{folder}/", "")
                yield Verified("the challenge can be derived from the archive", reason or type(error).__name__)


def _same_site(bundle: Bundle, source: str, documents: Path, copy: Path) -> Verified:
    """Whether the files of the site are those of the archive."""
    names, differing = [name.removeprefix(PUBLIC) for name in bundle.names(PUBLIC) if name not in (EVENTS, SIGNED)], []
    for name in names:
        copied = copy / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        try:
            if "://" in source:
                download(f"{source.rstrip('/')}/{name}", copied, LARGEST)
            else:
                shutil.copyfile(Path(source, name), copied)
        except (ScorerError, OSError):
            differing.append(name)
        else:
            if copied.read_bytes() != (documents / name).read_bytes():
                differing.append(name)
    return Verified(f"{counted(len(names), 'file')} of the site are those of the archive", listed("not", differing))


def _derived(bundle: Bundle, documents: Path, folder: Path, head: KnownHead | None) -> Iterator[Verified]:
    """What follows from the archive, whose bytes are verified."""
    yield from verified_log(documents / LOG, head=head)
    if head is not None and head.statement:
        found = forged(read_key(documents / RECEIPTS), head.statement.encode(), head.signature.encode())
        yield Verified("the line with the head is signed by the key of receipts", found)
    lines = read_log(documents / LOG)
    opened = {row["index"]: row | {"fields": json.loads(row["event"])} for row in bundle.rows(EVENTS)}
    yield Verified(
        f"the {counted(len(opened), 'published event')} have their leaves and kinds in the log",
        _not_opened(lines, opened),
    )
    yield _receipts(bundle, documents, lines, opened)
    challenge = challenge_in(bundle, folder / "challenge")
    if (documents / COMMITMENT).exists():
        splits = [path for track in challenge.tracks if (path := documents / track.name / "split.json").exists()]
        commitment, log, key = (documents / name for name in (COMMITMENT, LOG, RECEIPTS))
        yield from verified_commitment(commitment, documents / OPENING, log=log, key=key, split=splits)
    facts = {"version": SCHEMA_VERSION, "scorer": __version__, "identity": "0" * 32, "salt": "0" * 64}
    rows = {SCHEMA: [{**facts, "revision": len(lines)}], EVENT_TABLE: [_row(line, opened) for line in lines]}
    yield from _loaded(bundle, challenge, rows, folder / "solutions.db")
    times = [datetime.fromisoformat(row["at"]) for row in rows[EVENT_TABLE] if row["at"]]
    with Store.open(challenge.database_address, create=False, clock=lambda: max(times)) as store:
        yield Verified(f"{counted(len(lines), 'event')} can be imported")
        store_members(bundle, SUBMISSIONS, store.kept_submissions(challenge.root), None)
        if challenge.publish_submissions:
            yield from _submissions(bundle, store.read(present_digests))
        plans = store.read(lambda view: [Now.of(view, track).phases.all for track in challenge.tracks])
        times += [plan[-1].closes for plan in plans if plan]
        for track in challenge.tracks:
            yield from _scored(challenge, store, track, documents)
        derived = store.read(partial(_documents, challenge=challenge, log=PublishedLog(tuple(lines))))
    for name in derived:
        if name.endswith(BOARDS):
            yield _same_board(name, derived[name], documents / name, bundle.manifest.scorer)


def _loaded(bundle: Bundle, challenge: Challenge, rows: dict[str, Any], scratch: Path) -> Iterator[Verified]:
    """Import the rows, with the solutions as their bytes have them, and the results of submissions without bytes."""
    most = most_expanded(bundle.size)
    for place in (scratch, challenge.database_address):
        with opened_database(place) as database:
            load(database, lambda table: rows.get(table, ()), SCHEMA_VERSION, most)
        with Store.open(place, create=False) as store:
            store_members(bundle, SOLUTIONS, store.archive(challenge.root), None)
            for track in challenge.tracks if place == scratch else ():
                for rules in store.read(partial(_all_rules, track=track, store=store)):
                    rules.store_solution(store, rules.read_solution())
            present = store.read(present_digests) if challenge.publish_submissions else frozenset()
            rows["solution"] = store.read(lambda view: list(dumped(view, "solution")))
        known = {row["digest"] for row in rows["solution"]}
        proven = {name.removeprefix(SUBMISSIONS) for name in bundle.names(SUBMISSIONS)} | present
        unproven = [row for row in bundle.rows(RESULTS) if row["submission_digest"] not in proven]
        rows[RESULT_TABLE] = [row for row in unproven if row["solution_digest"] in known]
    if count := len({row["submission_digest"] for row in unproven}):
        which = ("submission that was withdrawn", "submissions that were withdrawn")
        unbound = counted(count, *(which if challenge.publish_submissions else ("submission",)))
        yield Verified(f"nothing binds the results of {unbound} to their bytes", is_note=True)


def _all_rules(view: Snapshot, track: Track, store: Store) -> list[RuleSet]:
    """The rules of a track by each basis of the record."""
    rules = RuleSet.of(track, store)
    events = [event for event in view.events(track.name) if event.kind == "basis"]
    return [rules.by(recorded_basis(event.body, event.at)) for event in events]


def _not_opened(lines: Sequence[LogLine], opened: Opened) -> str:
    """The first event that the archive lacks, or whose text is another one than that in the log."""
    if unknown := opened.keys() - {line.index for line in lines}:
        return f"the log has no event {min(unknown)}"
    for line in lines:
        if line.index not in opened:
            if line.kind not in ("token", "erratum"):
                return f"event {line.index}, of the kind {line.kind}, is not published"
            continue
        found = opened[line.index]
        if leaf_of(bytes.fromhex(found["nonce"]), found["event"].encode("ascii")) != line.leaf:
            return f"event {line.index} has another text or nonce than in the log"
        if (found["fields"]["index"], found["fields"]["kind"]) != (line.index, line.kind):
            return f"event {line.index} has another index or kind in its text"
    return ""


def _receipts(bundle: Bundle, documents: Path, lines: Sequence[LogLine], opened: Opened) -> Verified:
    """Whether each arrival has its receipt, signed by the key."""
    key, wrong = read_key(documents / RECEIPTS), []
    arrivals = {index for index, each in opened.items() if each["fields"]["kind"] == "arrival"}
    for row in bundle.rows(SIGNED):
        message, end, signed = row["receipt"].encode("ascii").partition(b"\n")
        receipt = json.loads(message)
        index = receipt["index"]
        arrivals.discard(index)
        found, line = opened[index], lines[index - 1]
        wanted = found["event"], found["nonce"], line.leaf.hex(), line.head.hex()
        stated = tuple(receipt[name] for name in ("event", "nonce", "leaf", "head"))
        if forged(key, message + end, signed) or stated != wanted:
            wrong.append(str(index))
    lacking = [str(index) for index in sorted(arrivals)]
    differs = listed("of the events", wrong) or listed("missing for the events", lacking)
    count = sum(line.kind == "arrival" for line in lines)
    return Verified(
        f"the receipts of {counted(count, 'arrival')} are signed, and have their events in the log", differs
    )


def _row(line: LogLine, opened: Opened) -> dict[str, Any]:
    """The row of an event; one that is not public becomes a token that has ended, which decides nothing."""
    if line.index in opened:
        event = opened[line.index]["fields"]
        return {**event, "body": encoded(event["body"])}
    body = encoded({"state": "ended", "sha256": "0" * 64, "team": ""})
    return {"index": line.index, "track": EVERY_TRACK, "kind": "token", "at": None, "body": body}


def _submissions(bundle: Bundle, needed: frozenset[str]) -> Iterator[Verified]:
    """Whether the archive has the bytes of submissions that have arrived; others have no score."""
    found = {name.removeprefix(SUBMISSIONS) for name in bundle.names(SUBMISSIONS)}
    unknown = listed("unknown:", sorted(found - needed))
    yield Verified(f"the archive has the bytes of {counted(len(found), 'submission')}", unknown)
    if lacking := len(needed - found):
        yield Verified(
            f"{counted(lacking, 'submission')} without bytes: no score follows from the archive", is_note=True
        )


def _scored(challenge: Challenge, store: Store, track: Track, documents: Path) -> Iterator[Verified]:
    """Score the submissions of a track from their bytes, and verify its split."""
    rules = store.read(RuleSet.of(track, store).in_force)
    recorded = store.read(lambda view: Now.of(view, track).recorded)
    differs = "" if recorded is not None and recorded.basis == rules.basis else "the record has other rules"
    yield Verified(f"{track.name}: the board is based on the rules and the solution of the record", differs)
    sources = Sources.of(challenge, store, ())
    solution = rules.read_solution()
    split = documents / track.name / "split.json"
    if split.exists():
        yield from verified_split(split, queries=solution.queries.to_pylist())
    queue = Queue(store, rules)
    # All at once, also what is over a quota: its result has no effect, and waves would take longer.
    every = store.read(rules.entries).stored
    outcomes = list(score(queue, every, sources, solution, None))
    failed = listed("failed:", (entry.file for entry, outcome in outcomes if isinstance(outcome, Failed)))
    complete_means(store, rules)
    count = store.read(lambda view: len(submissions_of(view, [track])))
    scored = f"{len(outcomes):,} of {counted(count, 'entry', 'entries')} were scored from their bytes"
    yield Verified(f"{track.name}: {scored}", failed)


def _same_board(name: str, derived: str, published: Path, scorer: str) -> Verified:
    """Whether a derived board is the published one, byte for byte, or in its values if another version wrote it."""
    text = published.read_bytes() if published.exists() else b""
    statement = f"{name}: the derived board is the published one, byte for byte"
    if text == derived.encode():
        return Verified(statement)
    if scorer != __version__:
        return _same_values(name, _rows(name, text.decode("utf-8", "replace")), _rows(name, derived), scorer)
    pairs = itertools.zip_longest(text.decode("utf-8", "replace").splitlines(), derived.splitlines(), fillvalue="")
    number, was, now = next((number, *pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return Verified(statement, f"line {number}: published {quoted(was.strip())}, derived {quoted(now.strip())}")


def _rows(name: str, text: str) -> list[dict[str, Any]]:
    if name.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text)))
    document = json.loads(text)
    return [{key: row.get(key) for key in document.get("columns", row)} for row in document["rows"]]


def _same_values(name: str, published: list[dict[str, Any]], derived: list[dict[str, Any]], scorer: str) -> Verified:
    """Whether two boards have the same rows in the columns that both have, which has to include ranks and scores."""
    empty: dict[str, Any] = {}
    derived = [{in_version_1_0(key): value for key, value in row.items()} for row in derived]
    first, shared = [*derived, *published, empty][0], [{*rows[0]} for rows in (published, derived) if rows]
    columns = [key for number, key in enumerate(first) if number < RANKING or all(key in keys for keys in shared)]
    statement = f"{name}: the derived board has the values of the published one in the {len(columns)} columns of both"
    differing = (
        f"row {number}: {key}: published {quoted(str(was.get(key)))}, derived {quoted(str(now.get(key)))}"
        for number, (was, now) in enumerate(itertools.zip_longest(published, derived, fillvalue=empty), 1)
        for key in columns
        if str(was.get(key)) != str(now.get(key))
    )
    found = next(differing, "")
    versions = f"; scorer {scorer} wrote it, and CHANGELOG.md says what differs in {__version__}"
    return Verified(statement + versions * (not found), found + versions * bool(found))
