"""The commands for decisions of an organiser: ``teams``, ``pick``, ``erratum``, ``amend``, ``split``, ``commit``
and others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.output import print_message, print_result
from scorer.cli.parameters import (
    ENTRY_HELP,
    ONE_TRACK,
    REASON,
    REASON_HELP,
    OrChallenge,
    WrongCallError,
    argument,
    form_of,
    group,
    moment,
    of_challenge,
    open_challenge,
    open_store,
    option,
    stated,
)
from scorer.cli.participate import TOKEN_FILE, client_of, service_address
from scorer.errors import ChallengeError, SolutionError
from scorer.wording import (
    Cell,
    CellValue,
    counted,
    iso_time,
    printable,
    printable_name,
    quoted,
    suggestion,
    table_of,
    text_table,
    utc_moment,
    utc_time,
)

if TYPE_CHECKING:
    from scorer.live.errata import Changes
    from scorer.rules.teams import Team, Token
    from scorer.settings.tracks import Challenge
    from scorer.store.snapshot import Snapshot
    from scorer.store.store import Store


def amend(
    entry: str = argument(ENTRY_HELP),
    received: datetime | None = option(
        "when the entry was received, with its offset from UTC, as in 2011-04-18T10:00:00Z", "TIME", type=moment
    ),
    meta: list[str] | None = option("a value of its metadata; repeatable", "KEY=VALUE"),
    reason: str = REASON,
    challenge: Path = of_challenge(),
) -> None:
    """Correct the time at which an entry was received, or its metadata. The decision is recorded with its reason.

    An entry whose time of receipt is impossible, as in the future, does not count until then.
    """
    from scorer.organising.picks import amend as amend_time
    from scorer.organising.picks import amend_metadata

    if (received is None) == (not meta):
        raise WrongCallError("give one of --received and --meta")
    with open_store(challenge) as (settings, _, store):
        if received is None:
            state = amend_metadata(settings, store, entry, meta or (), reason)
            print_result(f"{printable_name(state.submission.file)}: its metadata are corrected; `scorer run` shows it")
            return
        state = amend_time(settings, store, entry, received, reason)
    before, after = map(utc_moment, (state.submission.received, received))
    print_result(f"{printable_name(state.submission.file)}: received {after}, not {before}; `scorer run` shows it")


def commit(challenge: Path = of_challenge()) -> None:
    """Commit to the solutions, the rules and the keys of splits before the challenge starts.

    The site then publishes a SHA-256 of all of them with a secret salt. At the end, `scorer reveal` publishes what it
    was computed from, and anybody can verify with `scorer verify commitment` that nothing was changed. From now on,
    runs go on by what is committed, also if a file is changed. Before the start, a changed challenge can be committed
    again; the site lists all commitments.
    """
    from scorer.organising.commitment import commit as commit_files

    with open_store(challenge, create=True) as (settings, _, store):
        made = commit_files(settings, store)
    print_result(f"the commitment has the SHA-256 {made.sha256} (event {made.index}); `scorer render` publishes it")


ERRATUM_ACTIONS = {
    "preview": "score all entries by the files as they are now, and print what changes",
    "apply": "change the board, and publish the erratum with its reason",
    "cancel": "discard the preview",
}

_ERRATUM_HELP = "; ".join(f"{name}: {about}" for name, about in ERRATUM_ACTIONS.items())


def erratum(
    action: str = argument(_ERRATUM_HELP, "|".join(ERRATUM_ACTIONS), choices=tuple(ERRATUM_ACTIONS)),
    reason: str | None = option(f"with apply: {REASON_HELP}", "TEXT"),
    without_missing: bool = option(
        "with apply: leave entries unscored whose files and kept bytes are gone, as after the close of their phase"
    ),
    track: str | None = option("the track; default: the only one with an erratum or changed files", "-t, --track NAME"),
    challenge: Path = of_challenge(),
) -> None:
    """Change the solution or the rules of a track after its first phase has started.

    Once a phase has started, runs go on by the recorded solution and rules, also if the files have changed. A preview
    scores all entries by the changed files and prints every team's score and rank before and after. Apply changes the
    whole board in one step. Entries that arrive in between are scored by both.
    """
    from scorer.organising.errata import apply, cancel, preview_erratum, track_of_erratum

    if (action == "apply") != (reason is not None):
        raise WrongCallError("apply needs --reason TEXT" if reason is None else "--reason belongs to apply")
    with open_store(challenge, track) as (settings, _, store):
        chosen = track_of_erratum(settings, store, track)
        if action == "preview":
            print_result(_table(preview_erratum(settings, store, chosen)))
            print_result(f"{chosen.name}: `scorer erratum apply --reason TEXT` publishes it, `cancel` discards it")
        elif reason is not None:
            applied, changes = apply(settings, store, chosen, reason, without_missing=without_missing)
            print_result(
                f"{_table(changes)}\n{chosen.name}: erratum {applied.number} is applied; `scorer run` shows it"
            )
        else:
            print_result(f"{chosen.name}: erratum {cancel(store, chosen).number} is cancelled")


def _table(changes: Changes) -> str:
    before, after = changes.before, changes.after
    heads = ("team", "rank before", "rank after", f"{before.measure} before", f"{after.measure} after")
    rows: list[list[CellValue | Cell]] = []
    for team in changes.teams:
        scores = Cell(team.before.score, before.decimals), Cell(team.after.score, after.decimals)
        rows.append([team.team.name, team.before.rank, team.after.rank, *scores])
    table = f"{text_table(table_of(heads, rows, ('team',)))}\n{changes.summary}"
    final = f"\n\nfinal scores, which visitors do not see yet:\n{_table(changes.final)}" if changes.final else ""
    return "".join(f"{each}\n" for each in changes.rules) + table + final


def forget(entry: str = argument(ENTRY_HELP), reason: str = REASON, challenge: Path = of_challenge()) -> None:
    """Drop the outcome of an entry and its kept bytes, so that the next run scores its file again.

    An entry without a file loses its score. The decision is recorded with its reason.
    """
    from scorer.organising.picks import forget as forget_outcome

    with open_store(challenge) as (settings, _, store):
        state, others = forget_outcome(settings, store, entry, reason)
    same = f", as those of {counted(others, 'other entry', 'other entries')} with the same content" if others else ""
    dropped = f"{printable_name(state.submission.file)}: its outcome and its kept bytes are dropped{same}"
    print_result(f"{dropped}; `scorer run` scores it again if its file is there")


def pick(
    entries: list[str] = argument(ENTRY_HELP, "ENTRY"),
    clear: bool = option("remove the picks of --team in --track"),
    track: str | None = option("with --clear or --server: the track", "-t, --track NAME"),
    team: str | None = option("with --clear: the name of the team's folder", "TEAM"),
    server: str | None = option("for a team: the address of the service; ENTRY is the id of an entry", "URL"),
    reason: str = option(REASON_HELP, "TEXT", default=""),
    token_file: Path | None = TOKEN_FILE,
    challenge: Path = of_challenge("entries"),
) -> None:
    """Pick the entries of teams of which the best one counts, in a track with entry = "picks".

    The entries of each team are at most as many as the track's `picks`, and replace its earlier picks. If an entry
    never counts, nothing is recorded: one that is rejected, early, late or over the quota, or whose file is gone or
    replaced since its phase closed. The timeline says that the organisers have picked for a team, and the reason.

    With --server, a team picks its own entries over the service, with its token.
    """
    if server is not None:
        if clear == bool(entries) or team is not None or reason:
            expected = "expected ENTRY... or --clear, and neither --team nor --reason"
            raise WrongCallError(f"{expected}: the token says who picks")
        client = client_of(server, token_file)
        with client.answering():
            track = track or client.only_track()
            indexes = client.pick(track, entries)
        print_result(f"{track}: picks {', '.join(map(str, indexes))}" if indexes else f"{track}: no picks")
        return
    if token_file is not None:
        raise WrongCallError("--token-file needs --server")
    from scorer.board.site.captions import status_words
    from scorer.organising.picks import clear_picks
    from scorer.organising.picks import pick as pick_entries
    from scorer.organising.teams import known_team

    given = (track is not None) + (team is not None)
    if clear == bool(entries) or given != (2 if clear else 0):
        raise WrongCallError("expected ENTRY..., or --clear --track NAME --team TEAM")
    with open_store(challenge, track) as (settings, (requested, *_), store):
        if team is not None:
            folder = known_team(team, store.read(lambda view: view.teams))
            clear_picks(store, requested, folder, reason=reason)
            print_result(f"{printable_name(folder)}: no picks in {track}; `scorer run` shows it")
        else:
            for (_, folder), picked in pick_entries(settings, store, entries, reason=reason).items():
                for entry in picked:
                    if not entry.may_count:
                        print_message(f"{entry.file}: does not count now ({status_words(entry)})")
                files = ", ".join(entry.file for entry in picked)
                print_result(f"{printable_name(folder)}: picks {files}; `scorer run` shows it")


def heads(challenge: Path = of_challenge()) -> None:
    """Print a line with the head of the public log, to publish where the organisers cannot change it later.

    Such places are a repository of somebody else, a mailing list or a paper. The line has the index of the last public
    event, the head, the time of this event, a signature by the key of receipts, and the name of the challenge. Whoever
    has the line gives it to `scorer verify challenge --head LINE`: the log must have the head.
    """
    from scorer.organising.commitment import signed_head

    with open_store(challenge) as (settings, _, store):
        print_result(signed_head(settings, store))


def receipt(
    entries: list[str] = argument(ENTRY_HELP, "ENTRY"),
    output: Path | None = option("write the receipt of one entry to this file", "-o, --output FILE"),
    folder: Path | None = option(
        "write the receipts of all entries into this folder, as TRACK/TEAM/ID-FILE.receipt.txt; those it has stay",
        "--all FOLDER",
    ),
    track: str | None = ONE_TRACK,
    challenge: Path = of_challenge("entries"),
) -> None:
    """Print the signed receipt of an entry, for its team.

    A receipt shows that an entry is in the record and in the log that the site publishes. Its team verifies it with
    `scorer verify receipt` and the public key receipts.pem of the site. It has the name of the file and its SHA-256,
    but no score. The receipt of an entry is always the same, so it can be issued again.
    """
    from scorer.organising.commitment import named_receipts, write_receipt, write_receipts

    if (folder is None) != bool(entries) or (output is not None and len(entries) != 1):
        raise WrongCallError("expected ENTRY..., ENTRY with -o FILE, or --all FOLDER")
    with open_store(challenge, track) as (settings, tracks, store):
        if folder is not None:
            written, known = write_receipts(settings, store, tracks, folder)
            print_result(f"{folder}: {counted(written, 'receipt')} written, {known:,} there already")
            return
        receipts = named_receipts(settings, store, tracks, entries)
    if output is not None:
        write_receipt(output, receipts[0])
        return
    print_result("".join(receipts).removesuffix("\n"))


def retry(
    entries: list[str] = argument(f"{ENTRY_HELP}; default: all that have failed", "entry"),
    challenge: Path = of_challenge("entries"),
) -> None:
    """Let the next run try entries again that were not scored because they took too much time or memory.

    An entry is given up after three attempts. This command sets the count back.
    """
    from scorer.organising.picks import retry as retry_entries

    with open_store(challenge) as (settings, _, store):
        count = retry_entries(settings, store, entries)
    found = f"{counted(count, 'failed entry', 'failed entries')}; `scorer run` tries again"
    print_result(found if count else "no entry has failed")


def reveal(track: str | None = ONE_TRACK, challenge: Path = of_challenge()) -> None:
    """Publish the keys of the splits, and the opening of the commitment. This cannot be undone.

    The keys show which queries were preliminary; the opening shows to what `scorer commit` committed, with the SHA-256
    of each solution. The decision is recorded. Anybody can then verify both with `scorer verify`. While a track
    does not show its final scores, nothing is published; with --track, only the key of one track is.
    """
    from scorer.organising.commitment import reveal as reveal_all

    with open_store(challenge, track) as (settings, tracks, store):
        for key in reveal_all(settings, store, tracks):
            state = "is revealed; `scorer render` publishes it" if key.is_new else "was revealed before"
            what = f"{key.track}: the key" if key.track else "the commitment"
            print_result(f"{what} with the SHA-256 {key.sha256} {state}")


def split(challenge: Path = of_challenge()) -> int:
    """Make the secret keys that decide which queries are preliminary, and print their SHA-256.

    A track has such a key if it has the key split in challenge.toml. A key file that exists is never changed. The
    output also says how many queries of the solution are preliminary; it is meant for the organiser only.
    """
    from scorer.organising.phases import make_keys, selected_queries, with_split
    from scorer.rules.split import exposure
    from scorer.settings.tracks import split_of

    settings, tracks = open_challenge(challenge)
    for path in make_keys(settings):
        print_result(f"made {path}: keep it secret, and keep a copy of it until the key is revealed")
    succeeded = True
    for track in with_split(tracks):
        try:
            chosen = split_of(track)
            if chosen is None:
                continue
            print_result(f"{track.name}: the key has the SHA-256 {chosen.key_sha256}")
            selected, queries = selected_queries(track, chosen)
            print_result(f"{track.name}: {selected:,} of {counted(queries, 'query', 'queries')} are preliminary")
        except (ChallengeError, SolutionError) as error:
            print_message(str(error))
            succeeded = False
        if note := exposure(track.key_path) if track.key_path else None:
            print_message(note)
    return 0 if succeeded else 1


_KEYS = ("affiliation", "code", "paper", "links")
"""The keys that ``set`` sets."""

_VERSION = 1
"""Of the structure of the list as JSON."""


_DONE = {
    "rename TEAM NAME": "is renamed",
    "merge TEAM INTO": "is merged",
    "unmerge TEAM": "is separate again",
    "disqualify TEAM": "is disqualified",
    "withdraw TEAM": "is withdrawn",
    "reinstate TEAM": "is ranked again",
    "set TEAM KEY=VALUE...": "is described",
}
"""What is printed after the name of the team, by the call; the functions are in `scorer.organising.teams`."""

_CALLS = {"list": "list", **{call.split()[0]: call for call in _DONE}}

_WITHOUT_REASON = ("list", "rename", "set")

_OF_TOKENS = {"token": 1, "invite": 1, "invite-all": 1, "tokens": 0, "revoke": 1}
"""The actions on tokens, and how many values each has."""


@dataclass(frozen=True)
class _TokenOptions:
    """The options of ``teams`` for tokens and invitations."""

    label: str = option("with token and invite: what the token is for, for the list", "TEXT", default="")
    expires: datetime | None = option(
        "with token, invite and invite-all: when it ends, as in 2011-04-18T10:00:00Z", "TIME", type=moment
    )
    output: Path | None = option(
        "with invite-all: the CSV file to write, with a row for each new link", "-o, --output FILE"
    )
    server: str = option(
        "with invite and invite-all: the address of the service; default: service or url in the table [site] of "
        "challenge.toml",
        "URL",
        default="",
    )


def teams(
    action: str = argument(
        "list (the default), rename TEAM NAME, merge TEAM INTO, unmerge TEAM, disqualify TEAM, withdraw TEAM, "
        f"reinstate TEAM, or set TEAM KEY=VALUE... with the keys {', '.join(_KEYS)}; a blank value removes a key; "
        "for the service: token TEAM, invite TEAM, invite-all FILE, tokens (a list), or revoke TOKEN",
        "ACTION",
        choices=OrChallenge([*_CALLS, *_OF_TOKENS]),
        default="list",
    ),
    values: list[str] = argument("TEAM is the name of the team's folder, as messages show it", "VALUE"),
    reason: str | None = option(
        "why; it is published and recorded; required by merge, unmerge, disqualify, withdraw and reinstate",
        "TEXT",
        type=stated,
    ),
    options: _TokenOptions = group(),
    form: str = form_of("the list", "table", "json"),
    challenge: Path = of_challenge("action"),
) -> None:
    """List the teams of a challenge, or decide about one: its name, merges, disqualification, links.

    A decision is written to teams.toml, next to challenge.toml, and recorded with its reason and its time. `scorer run`
    records changes that were made in the file by hand. `scorer run` or `scorer render` shows them.

    `token` prints a token with which a team hands in files, and `invite` a link that the team opens once to take its
    token. Either is printed once and kept nowhere: the record has its SHA-256. The team may be new.

    `invite-all` makes a link for each row of a CSV file with the columns team and address, and writes them into a file
    for a mail merge, which only you can read. Repeated, it makes links for new rows and for those who have not used
    theirs, which ends then. The record has no address. The list of teams says who has signed in.
    """
    if (action == "invite-all") != (options.output is not None):
        raise WrongCallError("invite-all needs -o FILE" if options.output is None else "--output belongs to invite-all")
    if action in _OF_TOKENS:
        _tokens(action, values, challenge, form, options)
        return
    _check(action, values, reason)
    with open_store(challenge) as (settings, _, store):
        if action == "list":
            _print_list(store, settings, form)
            return
        from scorer.organising import teams as decisions

        team, *others = values
        if action == "set":
            decisions.describe(settings, store, team, _settings(others))
        else:
            stated_reason = [] if reason is None else [reason]
            getattr(decisions, action)(settings, store, *values, *stated_reason)
        print_result(f"{printable_name(team)}: {_DONE[_CALLS[action]]}; `scorer render` shows it")


def _tokens(action: str, values: Sequence[str], challenge: Path, form: str, options: _TokenOptions) -> None:
    from scorer.organising import teams as issuing

    if len(values) != _OF_TOKENS[action]:
        raise WrongCallError(f"expected {action}{' and one value' if _OF_TOKENS[action] else ''}")
    with open_store(challenge, create=action in ("token", "invite", "invite-all")) as (settings, _, store):
        if action == "tokens":
            _print_tokens(*issuing.list_tokens(store), used=issuing.last_used(store, settings.root), form=form)
        elif action == "revoke":
            revoked = issuing.revoke(store, values[0])
            print_result(f"{printable_name(revoked.team)}: {revoked.use} {revoked.name} is revoked")
        elif action == "token":
            print_result(issuing.issue(store, values[0], "token", options.label, options.expires))
        else:
            address = options.server or settings.branding.service or settings.branding.url
            if not address:
                raise WrongCallError(f"{action} needs --server URL, or service in the table [site] of challenge.toml")
            address = service_address(address)
            if options.output is not None:
                table = Path(values[0])
                new, signed_in = issuing.invite_all(settings, store, table, options.output, address, options.expires)
                there = f"; {signed_in:,} signed in before" if signed_in else ""
                print_result(f"{options.output}: {counted(new, 'new link')}{there}; keep the file private")
                return
            code = issuing.issue(store, values[0], "invitation", options.label, options.expires)
            print_result(f"{address}/invite#{code}")


def _print_tokens(listed: Mapping[str, Token], now: datetime, *, used: Mapping[str, str], form: str) -> None:
    heads = ("token", "team", "use", "state", "label", "issued", "expires", "last used")
    rows = [
        (
            token.name,
            printable_name(token.team),
            token.use,
            token.state(now),
            printable(token.label),
            utc_time(token.issued) if token.issued else "",
            utc_time(token.expires) if token.expires else "",
            used.get(token.sha256, ""),
        )
        for token in listed.values()
    ]
    keys = [head.replace(" ", "_") for head in heads]
    _print(form, "tokens", [dict(zip(keys, row, strict=True)) for row in rows], heads, rows)


def _check(action: str, values: Sequence[str], reason: str | None) -> None:
    """Raise WrongCallError if values or the reason are missing or too many."""
    call, given = _CALLS[action], len(values) + 1
    expected = len(call.split())
    if given < expected or (given > expected and not call.endswith("...")):
        raise WrongCallError("list takes no values" if action == "list" else f"expected {call}")
    if action not in _WITHOUT_REASON and reason is None:
        raise WrongCallError(f"{action} needs --reason TEXT, which is published")
    if action in _WITHOUT_REASON and reason is not None:
        raise WrongCallError(f"{action} takes no --reason")


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    """The settings in KEY=VALUE; links are separated by spaces, or given one by one."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in _KEYS:
            hint = suggestion(key, _KEYS) if equals else ""
            raise WrongCallError(f"found {quoted(text)}{hint}, expected KEY=VALUE with one of {', '.join(_KEYS)}")
        if key == "links":
            settings[key] = [*(settings.get(key) or []), *value.split()] or None
        else:
            settings[key] = value if value.strip() else None
    return settings


def _print_list(store: Store, challenge: Challenge, form: str) -> None:
    from scorer.live.names import shown_names
    from scorer.rules.teams import teams as all_teams
    from scorer.rules.teams import tokens

    def read(view: Snapshot) -> tuple[list[tuple[Team, str, str]], bool]:
        """Teams with an entry or a token, with their pseudonyms and when they signed in; and if any can sign in."""
        shown, issued = shown_names(view, challenge.tracks), tokens(view.events()).values()
        used = {(token.team, token.ended) for token in issued if token.use == "invitation"}
        by_invitation = [token for token in issued if token.use == "token" and (token.team, token.issued) in used]
        first = {token.team: token.issued for token in by_invitation[::-1]}
        folders = dict.fromkeys((*view.teams, *(token.team for token in issued)))
        known = {**all_teams(folders, view.events()), **all_teams(view.teams, view.events())}
        signed_in = {team: utc_time(at) for team, at in first.items() if at is not None}
        return [(known[name], shown.get(name, ""), signed_in.get(name, "")) for name in folders], bool(issued)

    listed, can_sign_in = store.read(read)
    are_hidden = any(pseudonym for _, pseudonym, _ in listed)
    heads = ("team", "name", "status", "since", "reason", *(["shown as"] if are_hidden else []))
    heads += ("signed in",) if can_sign_in else ()
    documents, rows = [], []
    for team, shown, signed_in in listed:
        status = team.status if team.merged_into is None else f"merged into {printable_name(team.merged_into)}"
        since = "" if team.since is None else utc_time(team.since)
        more = {"shown_as": shown} if are_hidden else {}
        more |= {"signed_in": signed_in} if can_sign_in else {}
        documents.append(_document(team) | more)
        rows.append((team.folder, team.name, status, since, team.reason, *more.values()))
    _print(form, "teams", documents, heads, rows)


def _print(
    form: str, name: str, documents: Sequence[Any], heads: Sequence[str], rows: Sequence[Sequence[CellValue]]
) -> None:
    """Print a list of teams or tokens as JSON, by its name, or as a table."""
    import json

    if form == "json":
        print_result(json.dumps({"version": _VERSION, name: documents}, ensure_ascii=False, indent=1))
    else:
        print_result(text_table(table_of(heads, rows, heads)))


def _document(team: Team) -> dict[str, Any]:
    """A team for programs."""
    return {
        "team": team.folder,
        "name": team.name,
        "affiliation": team.affiliation,
        "links": list(team.links),
        "code": team.code,
        "paper": team.paper,
        "status": team.status,
        "merged_into": None if team.merged_into is None else printable_name(team.merged_into),
        "reason": team.reason,
        "since": None if team.since is None else iso_time(team.since),
        "history": [asdict(each) | {"at": None if each.at is None else iso_time(each.at)} for each in team.history],
    }
