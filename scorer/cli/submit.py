"""The commands that deliver submissions: ``submit`` hands in a file, and ``collect`` receives files from a folder."""

from __future__ import annotations

import os
import stat
import uuid
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.output import print_message, print_result
from scorer.cli.parameters import (
    TRACK_OF_FILE,
    WrongCallError,
    argument,
    number,
    of_challenge,
    only_track,
    open_store,
    option,
)
from scorer.errors import ChallengeError, FileError, Findings
from scorer.files.writing import replace_content
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.service.client import Client


SHOWN = 20
"""How many messages of a kind are printed."""


def collect(
    source: str = argument("the path or the URL of a folder with a folder for each team", "SOURCE"),
    track: str | None = option("-t, --track NAME", "the track that the files are for; needed if there are several"),
    challenge: Path = of_challenge(),
) -> int:
    """Receive the new files of teams from a folder or a store, without a server.

    SOURCE has a folder for each team, with files and no further folders. Each new file becomes an entry, as if it was
    handed in to `scorer serve`: its signed receipt is written next to it, as FILE.receipt.txt. If a file is refused,
    FILE.errors.txt says why; it is read again once it has changed. The next `scorer run` scores the entries.

    The time of receipt is that of the store where its clients cannot set it, as on S3, and otherwise the time at which
    this command found the file. Repeat the command every few minutes, and once more just before a phase closes.

    Exit code 1 means that this call refused or skipped a file, or that a file could not be read or answered. What is
    received is printed to standard output, all else to standard error.
    """
    from scorer.service.accepting import collect as collect_files

    counts: Counter[str] = Counter()
    with open_store(challenge, track, create=True) as (settings, tracks, store):
        requested = only_track(tracks)
        for each in collect_files(store, settings, requested, source):
            counts[each.outcome] += 1
            if each.outcome == "received":
                print_result(f"{each.file}: {each.text}")
            elif each.outcome in ("refused", "failed", "skipped") and counts[each.outcome] <= SHOWN:
                print_message(f"{each.file}: {each.text}")
    listed = [f"{counts[outcome]:,} {outcome}" for outcome in ("received", "known", "refused")]
    listed += [f"{counts[each]:,} {each}" for each in ("failed", "skipped", "in progress") if counts[each]]
    print_result(f"{requested.name}: {', '.join(listed)}")
    return 1 if counts["refused"] or counts["failed"] or counts["skipped"] else 0


VARIABLE = "SCORER_TOKEN"
"""The environment variable with the token."""

TOKEN_FILE = option(
    "--token-file FILE",
    f"a file with the token, which only you can read; default: the environment variable {VARIABLE}",
)

DELIVERY = ".delivery"
"""Ends the name of the file with the id of a delivery that is not answered yet."""


def submit(
    file: Path = argument("the submission"),
    track: str | None = TRACK_OF_FILE,
    server: str = option("--server URL", "the address of the service"),
    token_file: Path | None = TOKEN_FILE,
    wait: float = option(
        "--wait SECONDS",
        "wait until the entry is scored, for 10 minutes or SECONDS, and print its score or its errors",
        type=number(least=0),
        nargs="?",
        const=600.0,
        default=0.0,
    ),
    receipt: Path | None = option(
        "--receipt FILE",
        "where to write the receipt; default: next to the file, as 7-FILE.receipt.txt for entry 7",
    ),
    no_check: bool = option("--no-check", "do not check the file before"),
    challenge: Path | str | None = of_challenge("", sites=True),
) -> int:
    """Hand in a file, keep the receipt, and wait for the score if that is requested.

    The file is checked first, as by `scorer check`, with what the site of the service publishes, or by --challenge. If
    the connection is lost, the same command goes on with the same delivery, so that the file becomes one entry: the id
    of the delivery is in FILE.delivery until the receipt is written.

    Exit code 1 means that the file is invalid, was refused, or was rejected when it was scored.
    """
    from scorer.files import digest
    from scorer.live.commitment import receipt_name

    client = client_of(server, token_file)
    track = track or client.only_track()
    try:
        sha256 = digest(file)
    except OSError as error:
        raise _unreadable(file, error) from error
    if not no_check and not _is_valid(file, track, challenge, client.server):
        return 1
    kept = file.with_name(file.name + DELIVERY)
    delivery = _delivery(kept, sha256, track, client.server)
    answer = client.hand_in(file, sha256, track, delivery)
    path = receipt or file.with_name(receipt_name(answer["index"], file.name))
    _write(path, answer["receipt"])
    kept.unlink(missing_ok=True)
    print_result(
        f"{printable(str(file))}: received as entry {answer['index']} of track {track} at {answer['received']}"
    )
    print_result(f"receipt {printable(str(path))}")
    return _outcome(client, track, delivery, wait, file) if wait else 0


def client_of(server: str, token_file: Path | None) -> Client:
    """The client of the service at an address, for the team of a token."""
    from scorer.service.client import Client

    return Client(_address(server), _token(token_file), print_message)


def _address(server: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(server)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address:
        raise WrongCallError(f"--server: found {quoted(server)}, expected an address that begins with https://")
    return server.rstrip("/")


def _token(file: Path | None) -> str:
    if file is None:
        token = os.environ.get(VARIABLE, "").strip()
        if not token:
            raise WrongCallError(f"no token: set the environment variable {VARIABLE}, or name a file with --token-file")
        return token
    try:
        if os.name == "posix" and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise WrongCallError(f"--token-file: others can read {quoted(str(file))}; run `chmod 600` on it")
        token = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise WrongCallError(f"--token-file: {quoted(str(file))} cannot be read: {error}") from error
    if not token.isprintable() or " " in token or not token:
        raise WrongCallError(f"--token-file: {quoted(str(file))} has no token; expected one line with it")
    return token


def _unreadable(file: Path, error: OSError) -> FileError:
    findings = Findings()
    findings.add(0, f"cannot be read: {error.strerror}")
    return FileError(str(file), findings)


def _is_valid(file: Path, track: str, challenge: Path | str | None, server: str) -> bool:
    """Whether the check finds no error; without a challenge, the site of the service has what the check needs."""
    from scorer.cli.run import check

    try:
        return check(str(file), track, challenge or server, None, None) == 0
    except ChallengeError as error:
        if challenge is not None:
            raise
        print_message(f"{error}; the file is handed in without a check")
        return True


def _delivery(kept: Path, sha256: str, track: str, server: str) -> str:
    """The id of the delivery: that of an interrupted try with the same file, track and server, or a new one."""
    wanted = f"{sha256} {track} {server}"
    try:
        last, _, what = kept.read_text(encoding="utf-8").strip().partition(" ")
        if what == wanted:
            return str(uuid.UUID(last))
    except (OSError, ValueError):
        pass
    new = str(uuid.uuid4())
    _write(kept, f"{new} {wanted}\n")
    return new


def _write(path: Path, text: str) -> None:
    try:
        replace_content(path, text.encode("utf-8"))
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> FileError:
    findings = Findings()
    findings.add(0, f"cannot be written: {error.strerror}; name another file with --receipt")
    return FileError(str(path), findings)


def _outcome(client: Client, track: str, delivery: str, wait: float, file: Path) -> int:
    """Wait for the outcome of an entry, and print it; return the exit code."""
    (entry,) = deque(client.followed(track, delivery, wait), maxlen=1)
    name = printable(str(file))
    for problem in entry["problems"] if entry["outcome"] == "rejected" else ():
        line = f"{problem['line']}: " if problem["line"] else ""
        print_message(f"{name}:{line}{problem['text']}" if line else f"{name}: {problem['text']}")
    for stage, scores in entry["scores"].items():
        for measure, value in scores.items():
            if value is not None:
                print_result(f"{stage} {measure} {value}")
    if "rank_of_team" in entry:
        print_result(f"rank of the team on the board {entry['rank_of_team']}")
    print_message(f"{name}: {printable(str(entry['words']))}")
    return 1 if entry["outcome"] == "rejected" else 0
