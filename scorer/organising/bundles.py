"""Bundles: a challenge leaves as one archive, and another machine makes the same challenge from it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from pydantic import Field

from scorer import __version__
from scorer.errors import ChallengeError, ScorerError, os_errors_as
from scorer.files import AnyFile, Remote, chunks_of, digest_of
from scorer.files.writing import PRIVATE, temporary_folder
from scorer.limits import most_copied, most_expanded
from scorer.live.entry import present_digests, present_files, track_digests
from scorer.live.now import Now
from scorer.measures import Measure
from scorer.organising.render import render
from scorer.organising.run import files_of_site
from scorer.organising.scan import scan
from scorer.organising.teams import check_folders
from scorer.record.events import SHA256, log_lines
from scorer.record.log import START
from scorer.rules.tables import valid
from scorer.settings.loading import read_challenge
from scorer.settings.published import Portable, portable, with_database
from scorer.settings.tracks import FILE, SOLUTION_KEYS, Challenge, Track, public_lists
from scorer.store.database import Database
from scorer.store.documents import Document, Manifest, Sha256
from scorer.store.events import Basis
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.sidecar import Archive
from scorer.store.snapshot import Means, Snapshot
from scorer.store.store import Store, now
from scorer.store.transfer import BUNDLED_TABLES as TABLE_NAMES
from scorer.store.transfer import VERSIONS, InvalidRowsError, dumped, load, unload
from scorer.verification.bundle import (
    BUNDLE_VERSION,
    CHALLENGE,
    COMMENT,
    COMMENT_BYTES,
    DAMAGED,
    FORMAT,
    INDEX,
    LONGEST_FILE_NAME,
    MANIFEST,
    NO_BUNDLE,
    SOLUTIONS,
    SUBMISSIONS,
    TABLES_FOLDER,
    Bundle,
    is_safe,
    opened_bundle,
    printed,
    verified_content,
)
from scorer.verification.log import Verified, read_log
from scorer.wording import quoted

Content = Callable[[], Iterable[bytes]]
"""Returns the content of a member, in chunks."""


def challenge_files(challenge: Challenge, moved: Portable, *, solutions: bool) -> dict[str, Content]:
    """The members for the files of a challenge but challenge.toml, by name. Raises ChallengeError."""
    root = challenge.root
    paths = {place: root / place for place in files_of_site(root)}
    for track in challenge.tracks:
        for key, path in {**track.files, "key_file": track.key_path}.items():
            if isinstance(path, Path) and (solutions or key not in (*SOLUTION_KEYS, "slices")):
                paths[moved.places[track.name, key]] = path
    return {f"{CHALLENGE}{place}": partial(content_of_file, path) for place, path in paths.items()}


def solution_files(archive: Archive) -> dict[str, Content]:
    """The members for the bytes of the solutions and public lists that the rules have used, by name."""
    digests = filter(SHA256.fullmatch, archive.digests())
    return {f"{SOLUTIONS}{digest}": partial(_read_same, archive.path(digest), digest) for digest in digests}


def _is_file_name(name: str) -> bool:
    """Whether this is the name of a file, which leads to no other folder on this system."""
    is_none = name in ("", ".", "..") or "\0" in name or len(os.fsencode(name)) > LONGEST_FILE_NAME
    return not is_none and Path(name).name == name


class BundledFile(Document):
    """A file of a folder of submissions: a line of the index."""

    track: str
    path: Annotated[
        list[Annotated[str, valid(_is_file_name, "is not the name of a file")]], Field(min_length=1, max_length=2)
    ]
    """The names of its folder, if it is in that of a team, and of the file."""
    sha256: Sha256
    mtime_ns: Annotated[int, Field(gt=-(2**63), lt=2**63)]


def submitted_files(
    view: Snapshot, challenge: Challenge, archive: Archive, kept: Archive, *, everything: bool
) -> dict[str, Content]:
    """The members for the files in the folders of submissions, and their index, by name.

    With `everything`, the submissions are in it, also those whose bytes are kept without a file; otherwise none.
    """
    files: list[tuple[BundledFile, Content]] = []
    for track in challenge.tracks if everything else ():
        if not isinstance(track.submissions_path, Remote):
            files += _submissions(view, challenge, track, archive)
    files.sort(key=lambda pair: (pair[0].track, pair[0].path))
    lines = [json.dumps(file.values(), separators=(",", ":")).encode("ascii") + b"\n" for file, _ in files]
    contents = {file.sha256: content for file, content in files}
    if everything:
        needed = present_digests(view).intersection(kept.digests())
        contents |= {digest: partial(_read_same, kept.file(digest), digest) for digest in needed}
    return {INDEX: lambda: lines, **{f"{SUBMISSIONS}{digest}": content for digest, content in contents.items()}}


def _submissions(
    view: Snapshot, challenge: Challenge, track: Track, archive: Archive
) -> Iterator[tuple[BundledFile, Content]]:
    scanned = scan(
        track,
        challenge.limits,
        present_files(Now.of(view, track).submissions.values()),
        view.scanned_files(track.name),
        {*archive.digests(), *view.solution_digests()},
        confirmed=True,
    )
    for file, submission in scanned.submissions:
        if file.status is not None:
            path = file.file.split("/")[1:]
            bundled = BundledFile(
                track=track.name, path=path, sha256=submission.digest, mtime_ns=file.status.st_mtime_ns
            )
            yield bundled, partial(_read_same, file.path, submission.digest)


def content_of_file(path: AnyFile) -> Iterator[bytes]:
    """The content of a file. Raises ChallengeError if it cannot be read."""
    with os_errors_as(ChallengeError, f"{os.fspath(path)}: cannot be read"), path.open("rb") as stream:
        yield from chunks_of(stream)


def _read_same(path: AnyFile, digest: str) -> Iterator[bytes]:
    """The content of a file that has this SHA-256. Raises ChallengeError if it has another one."""
    hasher = hashlib.sha256()
    for chunk in content_of_file(path):
        hasher.update(chunk)
        yield chunk
    if hasher.hexdigest() != digest:
        raise ChallengeError(
            f"{os.fspath(path)}: changed while it was exported, or is damaged; `scorer doctor` checks it"
        )


def write_bundle(path: Path, members: Mapping[str, Content], facts: Mapping[str, Any]) -> Manifest:
    """Write a new bundle, which only its owner can read, with the digest of the whole at its end. Raises OSError.

    The members are in the order of their names; the manifest, which has the facts, is the last one.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE)
    digests: dict[str, str] = {}
    with os.fdopen(descriptor, "w+b") as stream:
        with ZipFile(stream, "w", ZIP_STORED) as archive:
            for name in sorted(members):
                hasher = hashlib.sha256()
                with archive.open(_member(name), "w", force_zip64=True) as member:
                    for chunk in members[name]():
                        hasher.update(chunk)
                        member.write(chunk)
                digests[name] = hasher.hexdigest()
            manifest = Manifest(format=FORMAT, version=BUNDLE_VERSION, **facts, members=digests)
            with archive.open(_member(MANIFEST), "w", force_zip64=True) as member:
                member.write(manifest_text(manifest).encode("ascii"))
            archive.comment = bytes(COMMENT_BYTES)
        size = stream.seek(0, os.SEEK_END) - COMMENT_BYTES
        stream.seek(0)
        digest = digest_of(chunks_of(stream, size))
        stream.seek(size)
        stream.write(f"{COMMENT}{digest}".encode("ascii"))
        stream.flush()
        os.fsync(stream.fileno())
    return manifest


def manifest_text(manifest: Manifest) -> str:
    """The manifest as it is written."""
    return json.dumps(manifest.values(), indent=1, sort_keys=True) + "\n"


def _member(name: str) -> ZipInfo:
    info = ZipInfo(name)  # of 1 January 1980
    info.create_system = 3  # Unix, on every system
    info.external_attr = (stat.S_IFREG | PRIVATE) << 16
    return info


_WAIT = 30.0
"""Seconds that an import waits for another process that uses the database."""


def export(
    challenge: Challenge, store: Store, settings: Path, target: Path, *, solutions: bool = False, files: bool = False
) -> Manifest:
    """Write a challenge into a new bundle, from one snapshot of its database. The same state gives the same bytes.

    `settings` is the file that the challenge was read from. The `target` is complete or not there. With `solutions`,
    they are in it, also the earlier ones: a run needs them. With `files`, those of the submissions are in it.
    """
    moved = portable(settings, challenge)
    archive, kept = store.archive(challenge.root), store.kept_submissions(challenge.root)

    def members(view: Snapshot) -> dict[str, Content]:
        members: dict[str, Content] = {f"{CHALLENGE}{FILE}": lambda: [moved.settings]}
        members |= challenge_files(challenge, moved, solutions=solutions)
        members |= solution_files(archive) if solutions else {}
        members |= submitted_files(view, challenge, archive, kept, everything=files)
        return members | {f"{TABLES_FOLDER}{name}.jsonl": partial(_lines, view, name) for name in TABLE_NAMES}

    return write_members(challenge, store, target, members)


def write_members(
    challenge: Challenge, store: Store, target: Path, members_of: Callable[[Snapshot], Mapping[str, Content]]
) -> Manifest:
    """Write the members for a snapshot into a new archive, which is complete or not there. Raises ChallengeError."""
    if target.exists() or target.is_symlink():
        raise ChallengeError(f"{target}: exists; name a new file")
    if target.absolute().is_relative_to(challenge.site_path):
        raise ChallengeError(f"{target}: is in the folder of the site, which is public; name a file elsewhere")
    if not target.absolute().parent.is_dir():
        raise ChallengeError(f"{target}: there is no folder {target.parent}; create it, or name another file")

    def write(view: Snapshot, part: Path) -> Manifest:
        members = members_of(view)
        for name in members:
            if not is_safe(name):
                raise ChallengeError(
                    f"{quoted(name.removeprefix(CHALLENGE))}: no other system may have a file of this name; rename it"
                )
        head, events = START, 0
        for line in log_lines(view.secret("log"), view.all_events):
            head, events = line.head, line.index
        part.unlink(missing_ok=True)  # after a connection was lost
        facts = {"scorer": __version__, "schema": SCHEMA_VERSION, "challenge": challenge.name}
        return write_bundle(part, members, {**facts, "events": events, "head": head.hex()})

    unwritable = os_errors_as(ChallengeError, f"{target}: cannot be written")
    with unwritable, temporary_folder(target.absolute().parent) as folder:
        part = folder / target.name
        manifest = store.read(partial(write, part=part))
        part.rename(target)
    return manifest


def _lines(view: Snapshot, table: str) -> Iterator[bytes]:
    for row in dumped(view, table):
        yield json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"


def left_out(challenge: Challenge, *, solutions: bool, files: bool) -> Iterator[str]:
    """What a bundle does not have, because it stays behind a URL."""
    for track in challenge.tracks:
        locations = public_lists(track) | (track.solution_paths if solutions else {})
        locations |= {"submissions": track.submissions_path} if files else {}
        for key, location in locations.items():
            if isinstance(location, Remote):
                yield f"tracks.{track.name}.{key}: stays at {location}; the bundle has only the URL"


def import_bundle(
    path: Path, folder: Path, database: str | None = None, *, clock: Callable[[], datetime] = now
) -> tuple[Path, int, tuple[str, ...]]:
    """Make a challenge from a bundle, which is not trusted, with its database and its site.

    Returns the first page of the site, how many events there are, and what the organiser should know about the site.
    Everything is made in a temporary folder next to the new one, which gets its name in the end. So an import that is
    killed leaves no part of a challenge, and can be repeated. `folder` does not exist, or is empty. `database` is the
    URL of an empty database; None: a file in the folder. `clock` returns the time that the site shows. Raises
    ScorerError.
    """
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise ChallengeError(f"{folder}: exists and is not empty; name a new folder")
    with opened_bundle(path) as bundle:
        for verified in verified_content(bundle):
            if verified.contradiction:
                raise bundle.error(verified.contradiction, DAMAGED)
        if bundle.manifest.tables not in VERSIONS:
            expected = f"{VERSIONS.start} to {SCHEMA_VERSION}"
            reason = f"has tables of schema version {bundle.manifest.tables}, but this scorer reads {expected}"
            remedy = f"install scorer {printed(bundle.manifest.scorer)} or later, which wrote it"
            if bundle.manifest.tables < VERSIONS.start:
                remedy = "import it with scorer 1.0, and export it again"
            raise bundle.error(reason, remedy)
        with os_errors_as(ScorerError, f"{folder}: cannot be written"):
            folder.absolute().parent.mkdir(parents=True, exist_ok=True)
            with temporary_folder(folder.absolute().parent) as temporary:
                built = temporary / "challenge"
                built.mkdir()
                try:
                    notes = _build(bundle, built, database, clock)
                except ScorerError as error:
                    raise ScorerError(str(error).replace(str(built), str(folder))) from error
                if folder.exists():
                    folder.rmdir()
                built.rename(folder)
    index = read_challenge(folder, solutions=False).site_path / "index.html"
    return index, bundle.manifest.events, notes


def _build(bundle: Bundle, built: Path, database: str | None, clock: Callable[[], datetime]) -> tuple[str, ...]:
    """Make the challenge in an empty folder, and render its site; return notes on it."""
    settings, challenge = built / FILE, challenge_in(bundle, built)
    for track in challenge.tracks:
        for path in (track.key_path, *track.solution_paths.values()):
            if isinstance(path, Path) and path.is_file():
                path.chmod(PRIVATE)
    if database is not None:
        settings.chmod(PRIVATE)  # the URL may have a password
        settings.write_bytes(with_database(settings.read_bytes(), database))
        challenge = read_challenge(settings, solutions=False)
    try:
        is_new = _load(bundle, challenge.database_address)
    except InvalidRowsError as error:
        raise ScorerError(f"{bundle.path}: {error}") from error
    try:
        return _complete(bundle, challenge, clock)
    except ScorerError:
        if is_new:
            with opened_database(challenge.database_address) as opened:
                unload(opened)
        raise


def challenge_in(bundle: Bundle, built: Path) -> Challenge:
    """Write the files of the challenge into an empty folder, and read it; it names no file outside of the folder."""
    for name in bundle.names(CHALLENGE):
        write_new(built / name.removeprefix(CHALLENGE), bundle.chunks(name))
    settings = built / FILE
    challenge = read_challenge(settings, solutions=False)
    if portable(settings, challenge).settings != settings.read_bytes():
        raise bundle.error(f"its {FILE} names a file outside of the challenge, or a database", NO_BUNDLE)
    return challenge


def _complete(bundle: Bundle, challenge: Challenge, clock: Callable[[], datetime]) -> tuple[str, ...]:
    """Write files and means, in addition to the rows, and render the site; return notes on it."""
    with Store.open(challenge.database_address, create=False, clock=clock) as store:
        check_folders(store.read(lambda view: view.teams), challenge.root)
        _write_submissions(bundle, challenge)
        store_members(bundle, SOLUTIONS, store.archive(challenge.root), None)
        if challenge.keep_submissions:
            needed = store.read(present_digests)
            store_members(bundle, SUBMISSIONS, store.kept_submissions(challenge.root), needed)
        for track in challenge.tracks:
            basis, measures, lacking = store.read(partial(_missing_means, track=track))
            if basis is not None:  # the revision stays, by which the site has its name
                store.store_means(lacking, basis, measures, revises=False)
        return render(challenge, store, pending=True).notes


def _missing_means(view: Snapshot, track: Track) -> tuple[Basis | None, tuple[Measure, ...], list[tuple[str, Means]]]:
    """The basis of a track, its measures, and the means by both that results lack."""
    now = Now.of(view, track)
    basis, measures = now.basis, now.track.all_measures
    digests = partial(track_digests, view, track.name)
    return basis, measures, [] if basis is None else view.missing_means(basis, digests, measures)


def _load(bundle: Bundle, database: str | Path) -> bool:
    with opened_database(database) as opened:
        schema, most = bundle.manifest.tables, most_expanded(bundle.size)
        return load(opened, lambda table: bundle.rows(f"{TABLES_FOLDER}{table}.jsonl"), schema, most)


def opened_database(database: str | Path) -> closing[Database]:
    """A database that is created if it is not there."""
    return closing(Database(database, create=True, wait=_WAIT))


def verified_bundle(path: Path, log: Path | None = None) -> Iterator[Verified]:
    """Verify a bundle, that a database accepts its rows, and if log.jsonl of the site is given, its record with it.

    Yields each statement. Nothing is said about the content of a file whose bytes were changed. Raises ScorerError if a
    file cannot be read, or is not a bundle.
    """
    public = None if log is None else read_log(log)
    with opened_bundle(path) as bundle, temporary_folder(Path(tempfile.gettempdir())) as folder:
        is_whole = True
        for verified in verified_content(bundle, public):
            yield verified
            is_whole &= not verified.contradiction
        if not is_whole:
            return
        if bundle.manifest.tables in VERSIONS:
            reason = ""
            try:
                _load(bundle, folder / "scores.db")
            except InvalidRowsError as error:
                reason = str(error)
            yield Verified("each row can be imported, and each result has the counts of its lists", reason)
    yield Verified("no file was scored again; `scorer evaluate` scores the files of a bundle", kind="note")


def store_members(bundle: Bundle, folder: str, archive: Archive, needed: Collection[str] | None) -> None:
    """Store the members of a folder by digest: all, or those that are needed."""
    members = [name for name in bundle.names(folder) if needed is None or name.removeprefix(folder) in needed]
    if members:
        with archive.adding() as add:
            for name in members:
                add(bundle.chunks(name), name.removeprefix(folder))


def _write_submissions(bundle: Bundle, challenge: Challenge) -> None:
    """Write the files in the folders of submissions, each with the time of its last change."""
    local = {track.name: track.submissions_path for track in challenge.tracks}
    left, most = most_copied(bundle.size), most_copied(bundle.size)
    for number, row in enumerate(bundle.rows(INDEX), 1):
        invalid = bundle.error(f"{INDEX}, line {number:,}: not a file of a submission", NO_BUNDLE)
        try:
            file = BundledFile.model_validate(row)
        except ValueError as error:
            raise invalid from error
        folder, member = local.get(file.track), f"{SUBMISSIONS}{file.sha256}"
        if not isinstance(folder, Path) or member not in bundle.members:
            raise invalid
        path = folder.joinpath(*file.path)
        left -= bundle.members[member].file_size
        if path.exists() or left < 0:
            twice = f"lists {quoted(file.path[-1])} twice, or as names that are one on this disk"
            reason = twice if left >= 0 else f"the files together exceed {most:,} bytes"
            raise bundle.error(f"{INDEX}, line {number:,}: {reason}", "export it again")
        write_new(path, bundle.chunks(member))
        os.utime(path, ns=(file.mtime_ns, file.mtime_ns))


def write_new(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)
