"""Derives a challenge from its public archive, and compares all that the archive has with what follows from it.

Nothing is accepted that is not expected: each member of the archive, and each byte of a document, follows from the
record or is named as not covered in docs/verification-spec.md.
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
from posixpath import normpath
from typing import Any

from scorer import __version__
from scorer.board.board import CERTAINTY
from scorer.board.site.pages import ARCHIVE, PLACE
from scorer.errors import ScorerError
from scorer.files.writing import temporary_folder
from scorer.limits import MB, Limits, most_expanded
from scorer.live.commitment import COMMITMENT, OPENING, RECEIPTS, commitments, receipt_text
from scorer.live.now import Now, PublishedLog, submissions_of
from scorer.live.rules import changed_names, committed_content
from scorer.measures.names import in_version_1_0
from scorer.organising.bundles import challenge_in, manifest_text, opened_database, store_members, write_new
from scorer.organising.public import (
    BOARDS,
    LARGEST,
    PUBLIC_EVENTS,
    RESULT_TABLE,
    RESULTS,
    SIGNED,
    Proof,
    differing_from_record,
    public_files,
    public_settings,
    public_texts,
)
from scorer.organising.rules import RuleSet
from scorer.organising.watch import Sources, score_queue
from scorer.record.events import EVERY_TRACK, INVALID, Event, bodies
from scorer.record.log import ABOUT_RECORD, LOG, UNPUBLISHED, LogLine, encoded, leaf_of
from scorer.record.signatures import key_of_pem
from scorer.rules.phases import DATES, folded_phases
from scorer.rules.split import KEY_FILE
from scorer.scoring.outcomes import Failed
from scorer.settings.published import download
from scorer.settings.tracks import FILE, FILE_KEYS, Challenge, Track, names_file
from scorer.store.events import BasisBody, ErratumBody, unknown_keys
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.store.transfer import EVENT_TABLE, SCHEMA_TABLE, dumped, load
from scorer.verification.bundle import (
    CHALLENGE,
    MANIFEST,
    PUBLIC,
    SOLUTIONS,
    SUBMISSIONS,
    Bundle,
    opened_bundle,
    printed,
    verified_members,
)
from scorer.verification.commitment import forged, read_public_key, verified_commitment, verified_split
from scorer.verification.log import (
    LONGEST_QUOTE,
    KnownHead,
    Verified,
    listed,
    lost_events,
    parsed_json,
    read_log,
    read_texts,
    verified_log,
)
from scorer.wording import counted, quoted, shortened

Opened = Mapping[int, Mapping[str, Any]]
"""The rows of events whose texts the archive has, by index: the text, its fields, and its nonce."""

OF_ALL_TRACKS = ("commitment", "team", *ABOUT_RECORD)
"""The kinds of published events that concern the whole challenge."""

_NEWLINE = b"\n"

SINCE_VERSION_2 = ("limits", "publish_submissions")
"""Settings that a basis has since version 2 of the log. They are no rules, so no erratum announces another value."""

RANKING = 4
"""So many columns of a board are its ranks, its teams and their scores, without which nothing can be compared."""


def verified_challenge(source: str | Path, head: KnownHead | None = None) -> Iterator[Verified]:
    """Derive all that a challenge has published from its public archive, and compare it with what the archive has.

    `source` is the archive, a folder with a copy of the site, or the address of the site. Yields each statement. Raises
    ScorerError if there is no archive. Nothing outside of the archive and the site is opened.
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
            try:
                if is_site:
                    yield from _site(bundle, source, documents, folder / "site")
                for verified in _derived(bundle, documents, folder, head):
                    yield replace(verified, contradiction=verified.contradiction.replace(f"{folder}/", ""))
            except (ScorerError, *INVALID) as error:
                reason = str(error).replace(f"{folder}/", "")
                yield Verified("the challenge can be derived from the archive", reason or type(error).__name__)


def _site(bundle: Bundle, source: str, documents: Path, copy: Path) -> Iterator[Verified]:
    """Whether the files of the site are those of the archive, as far as the log of the archive goes."""
    names = [name.removeprefix(PUBLIC) for name in bundle.names(PUBLIC) if name not in (PUBLIC_EVENTS, SIGNED)]
    boards, end = [name for name in names if name.endswith(BOARDS[0])], bundle.manifest.events
    texts: dict[str, bytes] = {}
    for name in names:
        copied = copy / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        try:
            if "://" in source:
                download(f"{source.rstrip('/')}/{name}", copied, LARGEST)
            else:
                shutil.copyfile(Path(source, name), copied)
            texts[name] = copied.read_bytes()
        except (ScorerError, OSError):
            continue
    log, archived = texts.get(LOG, b""), (documents / LOG).read_bytes()
    differing = [name for name in names if texts.get(name) != (documents / name).read_bytes()]
    is_later = log != archived and log.startswith(archived)
    is_earlier = log != archived and bool(log) and archived.startswith(log)
    if is_later or is_earlier:
        yield from (verified for verified in verified_log(copy / LOG) if verified.contradiction)
        heads = {line.head.hex(): line.index for line in read_log(copy / LOG)}
        rendered = {name.rpartition("/")[0]: heads.get(_stated(text)) for name, text in texts.items() if name in boards}
        changed = {
            f"{folder}/{name}" for folder, index in rendered.items() for name in BOARDS if index not in (None, end)
        }
        differing = [name for name in differing if name not in (LOG, COMMITMENT, *changed)]
    there = [] if "://" in source else [path for name in BOARDS for path in Path(source).rglob(name)]
    unknown = sorted({path.relative_to(source).as_posix() for path in there} - {*names})
    statement = f"{counted(len(names), 'file')} of the site are those of the archive"
    yield Verified(statement, listed("not", differing) or listed("not in the archive:", unknown))
    if is_later or is_earlier:
        at = json.loads(list(bundle.rows(PUBLIC_EVENTS))[-1]["event"])["at"]
        ends = f"the archive ends with event {end}, recorded at {at}, and the site with event {log.count(_NEWLINE)}"
        later = "look again when the archive is exported again, because boards that are newer are not compared"
        earlier = "the site is an older download, or frozen; download it again"
        statement = "the site has the events of the archive, and no others"
        yield Verified(statement, f"{ends}; {later if is_later else earlier}", "later")
    yield Verified("pages, charts, pictures and feeds of the site are not compared: they show these files", kind="note")


def _stated(board: bytes) -> str:
    """The head that a board says it was rendered at; empty if it is no board."""
    try:
        return str(parsed_json(board)["log"]["head"])
    except INVALID:
        return ""


def _derived(bundle: Bundle, documents: Path, folder: Path, head: KnownHead | None) -> Iterator[Verified]:
    """What follows from the archive, whose bytes are verified."""
    yield from verified_log(documents / LOG, head=head, texts=folder / PUBLIC_EVENTS)
    if head is not None and head.statement:
        forgery = forged(read_public_key(documents / RECEIPTS), head.statement.encode(), head.signature.encode())
        yield Verified("the line with the head is signed by the key of receipts", forgery)
    lines = read_log(documents / LOG)
    opened = {row["index"]: row | {"fields": json.loads(row["event"])} for row in bundle.rows(PUBLIC_EVENTS)}
    lost = lost_events(lines, read_texts(folder / PUBLIC_EVENTS, lines))
    yield from _events(lines, opened, lost)
    outside = _outside(bundle)
    yield Verified(f"{FILE} has what boards depend on, and names no file outside of the archive", outside)
    if outside:
        return
    challenge = challenge_in(bundle, folder / "challenge")
    if (documents / COMMITMENT).exists():
        splits = [path for track in challenge.tracks if (path := documents / track.name / "split.json").exists()]
        commitment, log, key = (documents / name for name in (COMMITMENT, LOG, RECEIPTS))
        yield from verified_commitment(
            commitment, documents / OPENING, log=log, key=key, split=splits, texts=folder / PUBLIC_EVENTS
        )
    facts = {"version": SCHEMA_VERSION, "scorer": __version__, "identity": "0" * 32, "salt": "0" * 64}
    rows = {SCHEMA_TABLE: [{**facts, "revision": len(lines)}], EVENT_TABLE: [_row(line, opened) for line in lines]}
    limits = replace(Limits(), expanded_mb=min(Limits().expanded_mb, most_expanded(bundle.size) // MB))
    _load(bundle, challenge, rows, folder / "solutions.db", limits)
    times = [datetime.fromisoformat(row["at"]) for row in rows[EVENT_TABLE] if row["at"]]
    with Store.open(challenge.database_address, create=False, clock=lambda: max(times)) as store:
        yield Verified(f"{counted(len(lines), 'event')} can be imported")
        store_members(bundle, SUBMISSIONS, store.kept_submissions(challenge.root), None)
        yield from _entries(bundle, store, challenge, rows[RESULT_TABLE])
        plans = store.read(lambda view: [Now.of(view, track).phases.all for track in challenge.tracks])
        times += [plan[-1].closes for plan in plans if plan]
        for track in challenge.tracks:
            yield from _scored(challenge, store, track, documents, limits)
        yield from store.read(partial(_compared, bundle, challenge, lines, opened))


def _events(lines: Sequence[LogLine], opened: Opened, lost: Mapping[int, LogLine]) -> Iterator[Verified]:
    """Whether the published events are those of the log."""
    yield Verified(
        f"the {counted(len(opened), 'published event')} have their leaves and kinds in the log",
        _not_opened(lines, opened, lost),
    )
    known = {"at", "body", "index", "kind", "track"}
    of_events = ((index, row["fields"]) for index, row in opened.items())
    keys = ((at, (*sorted(each.keys() - known), *unknown_keys(each["kind"], each["body"]))) for at, each in of_events)
    unknown = [f"event {index}: {name}" for index, names in keys for name in names]
    yield Verified("the keys of the events are known", listed("nothing is known about", unknown), "open")
    gone = listed("a backup was restored, and nobody has the events", map(str, lost))
    yield Verified("no event was lost", gone, "open")


def _not_opened(lines: Sequence[LogLine], opened: Opened, lost: Mapping[int, LogLine]) -> str:
    """The first event that the archive lacks although it is not lost, or whose text is another one than in the log."""
    if unknown := opened.keys() - {line.index for line in lines}:
        return f"the log has no event {min(unknown)}"
    for line in lines:
        if line.index not in opened:
            if line.kind not in UNPUBLISHED[line.version] and line.index not in lost:
                return f"event {line.index}, of the kind {line.kind}, is not published"
            continue
        opening = opened[line.index]
        if leaf_of(bytes.fromhex(opening["nonce"]), opening["event"].encode("ascii")) != line.leaf:
            return f"event {line.index} has another text or nonce than in the log"
        if (opening["fields"]["index"], opening["fields"]["kind"]) != (line.index, line.kind):
            return f"event {line.index} has another index or kind in its text"
        is_of_all = line.kind in OF_ALL_TRACKS or "commitment" in opening["fields"]["body"]
        if is_of_all and opening["fields"]["track"] != EVERY_TRACK:
            return f"event {line.index}, of the kind {line.kind}, names a track, but concerns all"
        if line.kind in UNPUBLISHED[line.version] and opening["fields"]["body"].get("state") != "applied":
            return f"event {line.index}, of the kind {line.kind}, has a text, which is not public"
    return ""


def _named(settings: str) -> dict[str, str]:
    """The files that the settings name, by their keys."""
    paths: dict[str, str] = {}
    for name, table in tomllib.loads(settings)["tracks"].items():
        files = {key: table[key] for key in FILE_KEYS if key != "slices" and names_file(key, table.get(key))}
        files |= {"split.key_file": table["split"].get("key_file", KEY_FILE)} if "split" in table else {}
        paths |= {f"tracks.{name}.{key}": normpath(place) for key, place in files.items()}
    return paths


def _outside(bundle: Bundle) -> str:
    """What challenge.toml has that boards do not depend on, or names that is not in the archive."""
    text = bundle.content(f"{CHALLENGE}{FILE}").decode()
    if public_settings(text, {}) != text:
        return "it has other keys, or another form"
    places = _named(text).items()
    outside = (key for key, place in places if f"{CHALLENGE}{place}" not in bundle.members)
    return listed("the archive lacks the files of", outside)


def _load(bundle: Bundle, challenge: Challenge, rows: dict[str, Any], scratch: Path, limits: Limits) -> None:
    """Import the rows, with the solutions as their bytes have them, and then the results, which need these."""
    most = most_expanded(bundle.size)
    for place in (scratch, challenge.database_address):
        with opened_database(place) as database:
            load(database, lambda table: rows.get(table, ()), SCHEMA_VERSION, most)
        with Store.open(place, create=False) as store:
            store_members(bundle, SOLUTIONS, store.archive(challenge.root), None)
            for track in challenge.tracks if place == scratch else ():
                for rules in store.read(partial(_all_rules, track=track, store=store)):
                    rules.store_solution(store, rules.read_solution(limits))
            rows["solution"] = store.read(lambda view: list(dumped(view, "solution")))
        rows[RESULT_TABLE] = list(bundle.rows(RESULTS))


def _all_rules(view: Snapshot, track: Track, store: Store) -> list[RuleSet]:
    """The rules of a track by each basis of the record."""
    rules = RuleSet.of(view, track, store)
    return [rules.by(basis) for _, basis in bodies(view.events(track.name), BasisBody)]


def _row(line: LogLine, opened: Opened) -> dict[str, Any]:
    """The row of an event; one that is not public becomes a token that has ended, which decides nothing."""
    log = None if line.version == 1 else line.version
    if line.index in opened:
        event = opened[line.index]["fields"]
        return {**event, "body": encoded(event["body"]), "log": log}
    body = encoded({"state": "ended", "sha256": "0" * 64, "team": ""})
    return {"index": line.index, "track": EVERY_TRACK, "kind": "token", "at": None, "body": body, "log": log}


def _entries(
    bundle: Bundle, store: Store, challenge: Challenge, results: Sequence[Mapping[str, Any]]
) -> Iterator[Verified]:
    """Whether the archive has the bytes of each entry, and the results of those without bytes."""
    stored = {name.removeprefix(SUBMISSIONS) for name in bundle.names(SUBMISSIONS)}
    states = store.read(lambda view: submissions_of(view, challenge.tracks))
    present = [state.submission for state in states if state.present]
    lacking = [submission for submission in present if submission.digest not in stored]
    count = counted(len(present), "entry", "entries")
    if challenge.publish_submissions:
        missing = listed("missing:", (submission.file for submission in lacking))
        yield Verified(f"the archive has the bytes of {count} that are not withdrawn", missing)
    else:
        teams = ", ".join(sorted({f"{each.team} ({each.track})" for each in lacking}))
        unbound = f"publish_submissions is false, so nothing binds the results to bytes of {teams}"
        yield Verified(f"the scores of {count}", unbound if lacking else "", "open")
    with_content = stored | {row["submission_digest"] for row in results}
    quotas = store.read(lambda view: {track.name: Now.of(view, track).rules.quota for track in challenge.tracks})
    for state in states:
        submission, is_gone = state.submission, not (state.present or state.unscored)
        if is_gone and quotas[submission.track].limits_anything and submission.digest not in with_content:
            where = f"{submission.file} was withdrawn, and its result is not in the archive"
            yield Verified(f"whether event {state.index} takes its places of the quota", where, "open")
    if gone := len({row["submission_digest"] for row in results} - {submission.digest for submission in lacking}):
        which = counted(gone, "submission that was withdrawn", "submissions that were withdrawn")
        yield Verified(f"nothing binds the results of {which} to their bytes", kind="note")


def _scored(challenge: Challenge, store: Store, track: Track, documents: Path, limits: Limits) -> Iterator[Verified]:
    """Score the submissions of a track from their bytes, and verify its rules and its split."""
    by_files = store.read(partial(RuleSet.of, track=track, store=store))
    names = store.read(partial(differing_from_record, rules=by_files))
    versions, moved = store.read(partial(_since_version_1, track=track))
    yield Verified(
        f"{track.name}: the board is based on the rules and the solution of the record",
        listed("the archive has other", names),
        "open" if versions[-1:] == [None] and {*names} <= {*SINCE_VERSION_2} else "FAILED",
    )
    yield Verified(
        f"{track.name}: {' and '.join(SINCE_VERSION_2)} are those of the start",
        listed("changed, which needs no erratum, by the events", moved),
        "open",
    )
    unexplained = store.read(partial(_unexplained, track=track))
    yield Verified(f"{track.name}: since they were fixed, rules and solution changed only by errata", unexplained)
    rules = store.read(by_files.in_force)
    solution = rules.read_solution(limits)
    split = documents / track.name / "split.json"
    if split.exists():
        yield from verified_split(split, queries=solution.queries.to_pylist())
    # All at once, also what is over a quota: its result has no effect, and waves would take longer.
    every = store.read(rules.entries).stored
    sources = Sources((), store.kept_submissions(challenge.root), keeps_more=False, limits=challenge.limits)
    outcomes = list(score_queue(store, rules, lambda _: (), every, sources, solution, None))
    failed = listed("failed:", (entry.file for entry, outcome in outcomes if isinstance(outcome, Failed)))
    store.store_means(store.read(rules.missing_means), rules.basis, rules.rules.measures)
    count = store.read(lambda view: len(submissions_of(view, [track])))
    scored = f"{len(outcomes):,} of {counted(count, 'entry', 'entries')} were scored from their bytes"
    yield Verified(f"{track.name}: {scored}", failed)


def _since_version_1(view: Snapshot, track: Track) -> tuple[list[int | None], list[str]]:
    """The version of the log of each basis of a track, and the bases that changed what version 1 does not record."""
    events = view.events(track.name)
    recorded = list(bodies(events, BasisBody))
    bases = [event for event, _ in recorded]
    plan = folded_phases(events)
    stated = [[(basis.settings or {}).get(key) for key in SINCE_VERSION_2] for _, basis in recorded]
    pairs = zip(bases[1:], itertools.pairwise(stated), strict=True)
    changed = [event for event, (before, now) in pairs if before != now]
    late = [event for event in changed if not plan.all or (event.at is not None and plan.has_started(event.at))]
    return [event.log for event in bases], [str(event.index) for event in late]


def _unexplained(view: Snapshot, track: Track) -> str:
    """The first event after which a track has another basis than it was committed to, or than an erratum announced."""
    committed = {each.index: each.content["tracks"].get(track.name) for each in commitments(view.events())}
    before: BasisBody | None = None
    promised: BasisBody | None = None
    is_committed, waiting = False, ""
    dates: list[Event] = []
    plan = folded_phases(dates)
    for event in view.events(track.name):
        has_started = event.at is not None and plan.has_started(event.at)
        if event.kind in DATES:
            dates.append(event)
            plan = folded_phases(dates)
        elif isinstance(event.body, ErratumBody) and event.kind == "erratum":
            promised = event.body.basis
        elif content := committed.get(event.index):
            if has_started or before is None or committed_content(before, content.get("phases")) != content:
                return f"event {event.index} commits to another basis than the last one before it, or after the start"
            is_committed, waiting = True, ""
        elif isinstance(basis := event.body, BasisBody):
            names = changed_names(before, basis) if before is not None and (is_committed or has_started) else ()
            if names and (promised is None or changed_names(promised, basis)):
                # Before the start, it is committed to again.
                waiting = f"{', '.join(names)} changed with event {event.index}, and no erratum explains it"
                if has_started:
                    return waiting
            before = basis
    if not waiting and promised is not None and before is not None and changed_names(promised, before):
        return "the last erratum announced another basis"
    return waiting


def _proof(bundle: Bundle, challenge: Challenge, lines: Sequence[LogLine], opened: Opened, view: Snapshot) -> Proof:
    """What the archive takes from the secrets of the record: a receipt is what its arrival says, if it is signed."""
    key, signatures = key_of_pem(bundle.content(f"{PUBLIC}{RECEIPTS}")), {}
    for row in bundle.rows(SIGNED):
        said, end, signed = str(row["receipt"]).partition("\n")
        if not forged(key, f"{said}{end}".encode("ascii"), signed.encode("ascii")):
            signatures[f"{said}{end}"] = signed
    nonces = {index: bytes.fromhex(row["nonce"]).hex() for index, row in opened.items()}
    receipts = {}
    for event in view.all_events:
        if event.kind == "arrival":
            plan = folded_phases(each for each in view.events(event.track) if each.index < event.index)
            text = receipt_text(challenge.name, event, plan, nonces[event.index], lines[event.index - 1])
            receipts[event.index] = f"{text}{signatures.get(text, '')}"
    lost = lost_events(lines, {event.index: event.values for event in view.all_events if event.kind == "restored"})
    secret = [line.index for line in lines if line.kind == "erratum" and line.index not in (*nonces, *lost)]
    return Proof(PublishedLog(tuple(lines)), nonces, key.hex(), receipts, secret)


def _compared(
    bundle: Bundle, challenge: Challenge, lines: Sequence[LogLine], opened: Opened, view: Snapshot
) -> list[Verified]:
    """Whether the archive has all that follows from the record as it follows, and nothing else."""
    settings = bundle.content(f"{CHALLENGE}{FILE}").decode()
    texts = public_texts(view, challenge, settings, _proof(bundle, challenge, lines, opened, view))
    names = texts.keys() | public_files(view, challenge, _named(settings).values())
    manifest, writer = bundle.manifest, bundle.manifest.scorer
    stated = {"challenge": challenge.name, "events": len(lines), "head": lines[-1].head.hex()}
    texts[MANIFEST] = manifest_text(manifest.model_copy(update=stated))
    missing = (name for name in sorted(names - bundle.members.keys()) if not name.startswith(SUBMISSIONS))
    statements = [
        Verified("the archive has all that the record says exists", listed("it lacks", missing)),
        Verified(
            "the archive has nothing else",
            listed("nothing derives", sorted(bundle.members.keys() - names - {MANIFEST})),
        ),
        *(_same(name, bundle.content(name), texts[name], writer) for name in sorted(texts) if name in bundle.members),
    ]
    if writer != __version__:
        about = f"scorer {printed(writer)} wrote the archive; it is compared with what scorer {__version__} derives"
        statements.append(Verified(f"{about}, and CHANGELOG.md says what differs", kind="note"))
    return statements


def _same(name: str, published: bytes, derived: str, scorer: str) -> Verified:
    """Whether a document is the derived one, byte for byte, or in its values if another version wrote it."""
    what = "board" if name.endswith(BOARDS) else "file"
    statement = f"{name.removeprefix(PUBLIC)}: the derived {what} is the published one, byte for byte"
    if published == derived.encode():
        return Verified(statement)
    if scorer != __version__ and name.endswith((".json", ".csv")):
        return _same_values(name, published, derived, scorer)
    lines = published.decode("utf-8", "replace").splitlines(True), derived.splitlines(True)
    pairs = enumerate(itertools.zip_longest(*lines, fillvalue=""), 1)
    number, was, now = next((number, *pair) for number, pair in pairs if pair[0] != pair[1])
    return Verified(statement, f"line {number}: published {_shown(was)}, derived {_shown(now)}")


def _same_values(name: str, published: bytes, derived: str, scorer: str) -> Verified:
    """Whether two documents have the same values; what only one of them has is not verified."""
    statement = f"{name.removeprefix(PUBLIC)}: the derived file has the values of the published one"
    read = _table if name.endswith(".csv") else parsed_json
    if scorer == "1.0.0":  # it said of every team that it is better than a baseline, with the difference
        derived = re.sub('"Worse(?= than the baseline )', '"Better', in_version_1_0(derived))
        derived = re.sub(r" [\d,]+ quer(y|ies) may miss losses on up to [\d.e+]+ % of all queries\.", "", derived)
        derived = re.sub('("Better than the baseline [^"]*: )yes(?= .(?:\\\\u2212|\N{MINUS SIGN}))', r"\1no", derived)
    versions = f"; scorer {printed(scorer)} wrote it, and CHANGELOG.md says what differs in {__version__}"
    was, now = read(published), read(derived.encode())
    if scorer == "1.0.0":  # it had other tiers and intervals
        now = _without(now, CERTAINTY[-1])
        if was.get("version") in (1, 2):  # of the overall ranking, and of a board
            now["version"] = was["version"]
    needed = now.get("columns", [])[:RANKING]
    differences = [*_differences(was, now, "", needed)]
    other = [each for each, is_open in differences if not is_open]
    if wrong := next((each for each in other if scorer != "1.0.0" or not _STATISTICS.match(each)), ""):
        return Verified(statement, wrong + versions)
    unknown = f"only one of them has {', '.join(key for key, _ in differences)}{versions}" if differences else ""
    if other:
        unknown = "the statistics are not compared, because version 1.0.0 computed them in another way"
    return Verified(statement, unknown, "open")


_STATISTICS = re.compile(rf"statistics: |rows: \d+: ({'|'.join(CERTAINTY)}): ")
"""Begins the difference of a statistic."""


def _without(value: Any, key: str) -> Any:
    """A document without a key and a column, wherever it is."""
    if isinstance(value, dict):
        return {name: _without(each, key) for name, each in value.items() if name != key}
    return [_without(each, key) for each in value if each != key] if isinstance(value, list) else value


def _table(text: bytes) -> dict[str, Any]:
    """A CSV as `columns` and `rows`. Raises ValueError if a column is there twice, or a row has another length."""
    columns, *lines = csv.reader(io.StringIO(text.decode(), newline=""), strict=True)
    if len(set(columns)) < len(columns):
        raise ValueError("a column is there twice")
    return {"columns": columns, "rows": [dict(zip(columns, line, strict=True)) for line in lines]}


def _differences(was: Any, now: Any, where: str, needed: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """What differs between two values, and whether it is only that one of them has a key that is not needed."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() ^ now.keys()):
            yield f"{where}{key}", key not in needed
        for key in was.keys() & now.keys():
            yield from _differences(was[key], now[key], f"{where}{key}: ", needed)
    elif where.endswith("columns: ") and isinstance(was, list) and len(set(map(str, was))) == len(was):
        for key in sorted(set(was) ^ set(now)):
            yield f"{where}{key}", key not in needed
        if [key for key in was if key in now] != [key for key in now if key in was]:
            yield f"{where}another order", False
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for number, (one, other) in enumerate(zip(was, now, strict=True), 1):
            yield from _differences(one, other, f"{where}{number}: ", needed)
    elif json.dumps(was) != json.dumps(now):
        yield f"{where}published {_shown(was)}, derived {_shown(now)}", False


def _shown(value: object) -> str:
    """A value of a document in a message."""
    return quoted(shortened(str(value).strip(), LONGEST_QUOTE))
