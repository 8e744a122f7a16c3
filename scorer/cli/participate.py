"""The commands of those who take part, ``check`` and ``submit``, and the client of a service, which needs only the
standard library.
"""

from __future__ import annotations

import json
import os
import stat
import time
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from scorer.cli.output import print_message, print_result, write_file
from scorer.cli.parameters import (
    TRACK_OF_FILE,
    WrongCallError,
    argument,
    form_of,
    format_of,
    group,
    number,
    of_challenge,
    only_track,
    open_challenge,
    option,
)
from scorer.errors import (
    ChallengeError,
    Fact,
    Findings,
    Problem,
    ScorerError,
    SolutionError,
    need_libraries,
    os_errors_as,
)
from scorer.files import digest, is_regular, is_standard_input, shown
from scorer.lists import AS_TO_FORM, JUDGING, NO_QUERY_KNOWN, OTHER_TRACK, SAME_LISTS, SCORES_NOTHING
from scorer.wording import counted, one_line, printable, printable_name, quoted, shortened

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.scoring.outcomes import Rejected, Rules, Summary
    from scorer.settings.tracks import Challenge, Track


METADATA = option(
    "metadata that the challenge requests, or a file of them in YAML or JSON; repeatable", "KEY=VALUE|FILE"
)


@dataclass(frozen=True)
class CheckOptions:
    """The options that decide what is checked, and what is printed."""

    meta: list[str] | None = METADATA
    submission_format: str | None = format_of("the format of the file")
    strict: bool = option("exit with 1 if a valid file scores 0 for certain, as it has no candidate")
    no_meta: bool = option("do not check the metadata")
    last: str | None = option("the file of your last entry; say how many lists are the same", "FILE")
    no_solution: bool = option("check only what a participant can check with the site")
    form: str = form_of("what is found", "text", "json")


def check(
    file: str = argument("the submission: a path or a URL"),
    track: str | None = TRACK_OF_FILE,
    challenge: Path | str = of_challenge(sites=True),
    team: str | None = option("also print what is left of the quota of this team's folder", "TEAM"),
    options: CheckOptions = group(),
) -> int:
    """Check a submission before you submit it: format, queries, items, lengths, duplicates, and metadata.

    The check needs no solution, and shows nothing that only the solution knows. It reports unknown queries and items if
    the challenge has public lists of them. The address of the published site is enough: it has the public settings and
    lists.

    With --team, the command also says what is left of the team's quota and when it begins again, if the folder of the
    challenge has the database.
    """
    if isinstance(challenge, str):
        from scorer.settings.published import downloaded

        if team is not None:
            raise WrongCallError("--team needs the folder of the challenge; a site does not publish quotas")
        with downloaded(challenge, track) as (folder, named):
            return check(file, named, folder, None, options)
    settings, tracks = open_challenge(challenge, track)
    requested = only_track(tracks)
    if options.no_meta and options.meta:
        raise WrongCallError("--meta and --no-meta: choose one of them")
    code = _check(file, settings, requested, options)
    if team is not None:
        print_result(_left(settings, requested, team))
    return code


def _left(settings: Challenge, requested: Track, team: str) -> str:
    """What is left of the quota of a team, by the database of the challenge."""
    try:
        need_libraries("sqlalchemy")
        from scorer.live.entries import quota_line
        from scorer.store.store import Store

        with Store.open(settings.database_address, create=False) as store:
            return store.read(lambda view: quota_line(view, requested, team))
    except ScorerError as error:
        return f"{printable_name(team)}: nothing is known about its quota ({error})"


def _check(file: str, settings: Challenge, requested: Track, options: CheckOptions) -> int:
    from scorer.lists.solution import excluded, read_ids
    from scorer.scoring.executors.base import checked_in_child
    from scorer.scoring.outcomes import Failed, Rejected, Rules, Summary

    rules, submission_format = Rules.of(requested), options.submission_format
    if submission_format is not None:
        rules = replace(rules, submission_format=submission_format)
    queries = _queries(requested, no_solution=options.no_solution)
    candidates = read_ids(requested.files["items"]) if "items" in requested.files else None
    exclude = excluded(requested.files.get("exclude", requested.exclude))
    outcome = checked_in_child(queries, file, rules, settings.limits, candidates=candidates, excluded=exclude)
    path, whose = printable(shown(file)), f"for track {requested.name}"
    if submission_format not in (None, requested.submission_format):
        without = "reads the file without --tag and --submission-format"
        whose = f"as {submission_format}, which is no verdict {whose}: it {without}"
    if isinstance(outcome, Failed):
        is_valid, findings, said = False, Findings([Problem.of_form(0, outcome.reason)], 1), "not checked"
    else:
        findings = _findings(file, settings, requested, outcome, rules, options)
        is_valid = isinstance(outcome, Summary) and not findings.has("metadata")
    if isinstance(outcome, Rejected):
        said = f"invalid {whose}: {counted(outcome.problems.count, 'error')}"
    elif isinstance(outcome, Summary):
        lists, items = counted(outcome.counts.answered, "list"), counted(outcome.counts.items, "item")
        as_to_form = (each.text for each in findings if each.code == AS_TO_FORM)
        said = next(as_to_form, f"valid {whose}: {lists}, {items}")
        if not is_valid:
            said = f"invalid metadata for track {requested.name}; --meta states them, as for scorer submit"
    if options.form == "json":
        listed = [{"line": each.line, "code": each.code, "facts": each.facts, "text": each.text} for each in findings]
        print_result(json.dumps({"valid": is_valid, "summary": said, "count": findings.count, "findings": listed}))
    else:
        print_message(*findings.without(AS_TO_FORM).lines(shown(file)))
        if is_valid and queries is None and not findings.has(AS_TO_FORM):
            print_message(f"{requested.name}: the queries of the track are not available, so they were not compared")
        (print_result if is_valid else print_message)(f"{path}: {said}")
        if is_valid and is_regular(file):
            print_result(f"sha256 {digest(file)}")
    return int(not is_valid or (options.strict and findings.has(SCORES_NOTHING)))


def _findings(
    file: str, settings: Challenge, requested: Track, outcome: Rejected | Summary, rules: Rules, options: CheckOptions
) -> Findings:
    """What was found in a file, what matters most first, and in its metadata."""
    from scorer.scoring.executors.base import same_lists_in_child
    from scorer.scoring.outcomes import Rejected

    found = outcome.problems if isinstance(outcome, Rejected) else outcome.notes
    if meant := _meant(file, settings, requested, outcome):
        found = found.without("unknown-query")  # each of them is unknown here
        found.note(0, OTHER_TRACK, **meant)
    if options.last is not None and not isinstance(outcome, Rejected) and not is_standard_input(file):
        same, lists = same_lists_in_child(file, options.last, rules, settings.limits)
        if 2 * same >= lists > 0:
            facts = {"variant": "all" if same == lists else "some", "same": same, "lists": lists}
            found = Findings([Problem(0, SAME_LISTS, facts), *found], 1 + found.count)
    found = Findings(sorted(found, key=lambda each: each.code not in JUDGING), found.count)
    if not options.no_meta and not isinstance(outcome, Rejected):
        lines = _problem_of_metadata(file, settings, requested, options.meta or ()).splitlines()
        problems = [Problem(0, "metadata", {"text": line}) for line in lines]
        found = Findings([*problems, *found], len(lines) + found.count)
    return found


def _problem_of_metadata(file: str, settings: Challenge, track: Track, meta: Sequence[str]) -> str:
    """What is wrong with the metadata that are stated of a file, by line; empty if nothing is."""
    from scorer.settings.metadata import MetadataError, checked, of_head, read_all

    if not track.metadata:
        return "this track requests none; leave out --meta" if meta else ""
    try:
        head = {} if is_standard_input(file) else of_head(file, settings.limits)
        checked(track.metadata, {**head, **read_all(_documents(file, meta))})
    except MetadataError as error:
        return str(error)
    return ""


def _meant(file: str, settings: Challenge, requested: Track, outcome: Rejected | Summary) -> dict[str, Fact]:
    """For which other track a file with few queries of this one seems to be, by public lists; empty if for none."""
    from scorer.lists.solution import Solution
    from scorer.scoring.executors.base import checked_in_child
    from scorer.scoring.outcomes import Rejected, Rules, Summary

    if isinstance(outcome, Rejected):
        has_few, here = outcome.problems.has(NO_QUERY_KNOWN), 0
    else:
        has_few, here = 2 * outcome.counts.answered < outcome.counts.queries, outcome.counts.answered
    if not has_few or "queries" not in requested.files or is_standard_input(file):
        return {}
    for track in settings.tracks:
        if "queries" in track.files and track is not requested:
            queries = Solution.read_queries(track.files["queries"])
            there = checked_in_child(queries, file, Rules.of(track), settings.limits)
            if isinstance(there, Summary) and 2 * there.counts.answered >= there.counts.queries:
                title, counts = printable(track.title), there.counts
                return {"title": title, "lists": counts.answered, "queries": counts.queries, "here": here}
    return {}


def _queries(track: Track, *, no_solution: bool) -> Solution | None:
    """The queries of the track, from its public list or else from its solution; None if neither is available."""
    from scorer.lists.solution import Solution

    if "queries" in track.files:
        return Solution.read_queries(track.files["queries"])
    if no_solution:
        return None
    try:
        solution = Solution.read(track.solution_path, track.solution_format)
    except SolutionError:
        return None
    return Solution.of_queries(solution.queries.to_pylist()).with_parts(rows=solution.rows)


TIMEOUT = 60.0
"""Seconds without an answer after which a try ends, and the longest pause that a server may request."""

_ATTEMPTS = 5

PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds between two tries."""

POLL_EVERY = 1.0

BOARD_WITHIN = 30.0
"""Seconds after the outcome of an entry within which a board is expected that shows it."""

_RETRIED = (408, 500, 502, 503, 504, 507)


@dataclass(frozen=True, slots=True)
class Client:
    """A client of a service, for one team."""

    server: str
    """The address of the service, with https:// or http://."""
    token: str
    pause: Callable[[float], object] = time.sleep

    def hand_in(
        self, path: Path, digest: str, track: str, delivery: str, metadata: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Hand in a file by an id; an interrupted try goes on with the same id, so the file becomes one entry.

        Each of `metadata` is a document of YAML or JSON.

        Returns the answer: the entry with its receipt. Raises ScorerError.
        """
        name = urlencode([("name", path.name), *(("metadata", text) for text in metadata)])
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(path.stat().st_size),
            "Repr-Digest": f"sha-256=:{b64encode(bytes.fromhex(digest)).decode('ascii')}:",
        }
        return self._json("PUT", f"{_entry(track, delivery)}?{name}", path, headers)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Raise ScorerError for what only an answer of another program causes: a member is not there or is another."""
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ScorerError(f"{self.server}: answers otherwise than `scorer serve`; check the address") from error

    def same_as(self, track: str, digest: str) -> int | None:
        """The entry of the team with the same bytes in this phase; None without one."""
        same = self._json("GET", f"{_track(track)}/quota?sha256={digest}").get("same_as")
        return same if isinstance(same, int) else None

    def only_track(self) -> str:
        """The name of the only track of the challenge. Raises ScorerError if there are several."""
        names = [str(track["name"]) for track in self._json("GET", "/api/v1").get("tracks", ())]
        if len(names) != 1:
            raise ScorerError(f"{self.server}: has the tracks {', '.join(names)}; name one with --track")
        return names[0]

    def pick(self, track: str, entries: Sequence[str]) -> Sequence[int]:
        """Pick entries of the team by their indexes or ids of delivery; return the indexes of all picks."""
        body = json.dumps({"entries": list(entries)}).encode("ascii")
        picked = self._json("PUT", f"{_track(track)}/picks", body, {"Content-Type": "application/json"})
        return [int(index) for index in picked["entries"]]

    def followed(self, track: str, delivery: str, seconds: float) -> Mapping[str, Any]:
        """The entry once it has an outcome and is on the board, or the time is over."""
        deadline, had_outcome = time.monotonic() + seconds, False
        while True:
            entry = self._json("GET", _entry(track, delivery))
            has_outcome = entry["state"] not in ("waiting", "late") or entry["outcome"] != "waiting"
            if has_outcome and not had_outcome:
                had_outcome, deadline = True, min(deadline, time.monotonic() + BOARD_WITHIN)
            if (has_outcome and not entry.get("board_follows")) or time.monotonic() > deadline:
                return entry
            self.pause(POLL_EVERY)

    def _json(
        self, method: str, path: str, body: Path | bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        from http.client import HTTPException

        for attempt in range(_ATTEMPTS):
            try:
                status, answer = self._once(method, path, body, headers or {})
            except (OSError, HTTPException) as error:
                failure, wait = self._failure(f"cannot be reached: {str(error) or type(error).__name__}"), None
            else:
                if status < 300:
                    return answer
                failure = self._failure(str(answer.get("detail", f"HTTP status {status}")))
                if status not in _RETRIED and answer.get("code") != "too-fast":
                    raise ScorerError(failure)
                wait = answer.get("retry_after")
            if attempt + 1 < _ATTEMPTS:
                asked = min(max(wait, 0), TIMEOUT) if isinstance(wait, int) else None
                seconds = PAUSES[min(attempt, len(PAUSES) - 1)] if asked is None else asked
                print_message(f"{failure}; trying again in {seconds:g} seconds")
                self.pause(seconds)
        raise ScorerError(f"{failure}; the same command goes on later")

    def _failure(self, why: str) -> str:
        return f"{self.server}: {shortened(one_line(why), 1000)}"

    def _once(
        self, method: str, path: str, body: Path | bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, Any]]:
        from http.client import HTTPConnection, HTTPSConnection

        parts = urlsplit(self.server)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
        try:
            address = parts.path.rstrip("/") + path
            sent = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **headers}
            if isinstance(body, Path):
                # The server may have answered before it has the whole body.
                with body.open("rb") as file, suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, address, file, sent)
            else:
                connection.request(method, address, body, sent)
            response = connection.getresponse()
            return response.status, _answer(response.read(10_000_000))
        finally:
            connection.close()


def _track(name: str) -> str:
    return f"/api/v1/tracks/{quote(name, safe='')}"


def _entry(track: str, delivery: str) -> str:
    return f"{_track(track)}/entries/{delivery}"


def _answer(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


VARIABLE = "SCORER_TOKEN"
"""The environment variable with the token."""

TOKEN_FILE = option(
    f"a file with the token, which only you can read; default: the environment variable {VARIABLE}", "FILE"
)

_OTHER_FILE = "name another file with --receipt"

DELIVERY = ".delivery"
"""Ends the name of the file with the id of a delivery that is not answered yet."""


def submit(
    file: Path = argument("the submission"),
    track: str | None = TRACK_OF_FILE,
    server: str = option("the address of the service", "URL"),
    token_file: Path | None = TOKEN_FILE,
    wait: float = option(
        "wait until the entry is scored, for 10 minutes or SECONDS, and print its score and its rank, or its errors",
        "SECONDS",
        type=number(least=0),
        nargs="?",
        const=600.0,
        default=0.0,
    ),
    receipt: Path | None = option(
        "where to write the receipt; default: next to the file, as 7-FILE.receipt.txt for entry 7", "FILE"
    ),
    meta: list[str] | None = METADATA,
    no_check: bool = option("do not check the file before"),
    again: bool = option("hand in a file whose bytes are an entry of the team in this phase already"),
    challenge: Path | str | None = of_challenge("", sites=True),
) -> int:
    """Hand in a file, keep the receipt, and wait for the score if that is requested.

    The file is checked first, as by `scorer check`, with what the site of the service publishes, or by --challenge. If
    the connection is lost, the same command goes on with the same delivery, so that the file becomes one entry: the id
    of the delivery is in FILE.delivery until the receipt is written.

    The same bytes as those of an entry of the team in this phase are handed in only with --again.

    Exit code 1 means that the file is invalid, was refused, is an entry already, or was rejected when it was scored.
    """
    from scorer.store.documents import receipt_name

    client = client_of(server, token_file)
    with client.answering():
        track = track or client.only_track()
    name = printable(str(file))
    with os_errors_as(ScorerError, f"{name}: cannot be read"):
        sha256 = digest(file)
    if not no_check and not _is_valid(file, track, challenge, client.server, meta):
        return 1
    kept = file.with_name(file.name + DELIVERY)
    what = f"{sha256} {track} {client.server}"
    goes_on = _begun(kept, what)
    with client.answering():
        if not goes_on and not again and (same := client.same_as(track, sha256)) is not None:
            print_message(f"{name}: has the bytes of entry {same} of track {printable(track)}; nothing is handed in")
            print_message(f"{name}: --again hands it in as another entry")
            if wait:
                _outcome(client, track, str(same), wait, file)
            return 1
    delivery = goes_on or str(uuid.uuid4())
    if not goes_on:
        write_file(kept, f"{delivery} {what}\n".encode(), _OTHER_FILE)
    documents = _documents(str(file), meta or ())
    with client.answering():
        answer = client.hand_in(file, sha256, track, delivery, documents)
        path = receipt or file.with_name(receipt_name(int(answer["index"]), file.name))
        write_file(path, answer["receipt"].encode(), _OTHER_FILE)
        kept.unlink(missing_ok=True)
        whose = f"of team {answer['team']} " if "team" in answer else ""
        received = printable(f"entry {answer['index']} {whose}in track {track} at {answer['received']}")
        print_result(f"{name}: received as {received}")
        print_result(f"sha256 {sha256}")
        print_result(f"receipt {printable(str(path))}")
        return _outcome(client, track, delivery, wait, file) if wait else 0


def _documents(file: str, meta: Sequence[str]) -> list[str]:
    """What is stated of a file, as documents of metadata: in the files next to it, and then by --meta."""
    from scorer.rules.metadata import OF_FILE, OF_FOLDER

    path = Path(file)
    names = (OF_FOLDER, *(f"{path.name}{end}" for end in OF_FILE)) if is_regular(file) else ()
    beside = (str(path.with_name(name)) for name in names)
    return [_metadata(text) for text in (*filter(is_regular, beside), *meta)]


def _metadata(text: str) -> str:
    """A document of metadata: the content of a file, or one value."""
    name, equals, value = text.partition("=")
    if equals and not Path(text).exists():
        return json.dumps({name: value}, ensure_ascii=False)
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ScorerError(f"{printable(text)}: cannot be read: {error}; give KEY=VALUE or a file in UTF-8") from error


def client_of(server: str, token_file: Path | None) -> Client:
    """The client of the service at an address, for the team of a token."""
    return Client(service_address(server), _token(token_file))


def service_address(server: str) -> str:
    """The address of a service that a person has given. Raises WrongCallError if it is none."""
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


def _is_valid(file: Path, track: str, challenge: Path | str | None, server: str, meta: list[str] | None) -> bool:
    """Whether the check finds no error; without a challenge, the site of the service has what the check needs."""
    try:
        options = CheckOptions(meta, None, strict=False, no_meta=False, last=None, no_solution=False, form="text")
        return check(str(file), track, challenge or server, None, options) == 0
    except ChallengeError as error:
        if challenge is not None:
            raise
        print_message(f"{error}; the file is handed in without a check")
        return True


def _begun(kept: Path, what: str) -> str:
    """The id of the delivery of an interrupted try with the same file, track and server; empty without one."""
    with suppress(OSError, ValueError):
        last, _, earlier = kept.read_text(encoding="utf-8").strip().partition(" ")
        return str(uuid.UUID(last)) if earlier == what else ""
    return ""


def _outcome(client: Client, track: str, delivery: str, wait: float, file: Path) -> int:
    """Wait for the outcome of an entry, and print it; return the exit code."""
    entry = client.followed(track, delivery, wait)
    name = printable(str(file))
    for problem in entry["problems"] if entry["outcome"] == "rejected" else ():
        line = f"{problem['line']}: " if problem["line"] else ""
        print_message(f"{name}:{line}{problem['text']}" if line else f"{name}: {problem['text']}")
    for stage, scores in entry["scores"].items():
        for measure, value in scores.items():
            if value is not None:
                print_result(printable(f"{stage} {measure} {value}"))
    if "rank_of_team" in entry:
        print_result(printable(f"rank of the team on the board {entry['rank_of_team']}"))
    for key, text in (("rank_range", "rank from {0[0]} to {0[1]}"), ("tier", "tier {0}"), ("against", "{0[text]}")):
        if entry.get(key):
            print_result(printable(text.format(entry[key])))
    words = printable(str(entry["words"]))
    if entry["state"] == "scored" and not entry["counts"] and entry["rank"]:
        words += f"; it does not count; it would be rank {entry['rank']}"
    print_message(f"{name}: {words}")
    return 1 if entry["outcome"] == "rejected" else 0
