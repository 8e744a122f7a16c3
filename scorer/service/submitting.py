"""The page for handing in: a team signs in, checks a file, hands it in, and follows its entries, with forms."""

from __future__ import annotations

import io
import math
import secrets
import uuid
import zipfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from scorer.board.site.figures import axis_for
from scorer.board.site.templates import Held, service_page
from scorer.errors import Findings, Problem
from scorer.files.writing import PART
from scorer.limits import MB, Limits
from scorer.lists import JUDGING, READ_AS, SAME_LISTS, SCORES_NOTHING
from scorer.live.entries import scored_entries
from scorer.live.names import names_until, shown_names
from scorer.live.now import Now
from scorer.live.rules import entry_rule, pick_rules
from scorer.organising.teams import InvalidTokenError, redeem
from scorer.organising.watch import paused_since
from scorer.rules.phases import closing, with_grace
from scorer.rules.teams import PREFIXES, Token, token_digest
from scorer.rules.visibility import shown_from
from scorer.service.accepting import Delivery, RefusedError, Upload, check_open, examined
from scorer.service.documents import (
    AnswerDocument,
    entry_documents,
    last_file,
    published_board,
    quota_document,
    same_entry,
    track_document,
)
from scorer.service.state import Service, check_same_origin
from scorer.service.uploads import blocks_of, file_form, file_name_of, in_thread, received, sender, small_body
from scorer.settings.metadata import Given, MetadataError, Stated, checked, given_of, of_head
from scorer.settings.tracks import Track
from scorer.store.documents import receipt_name
from scorer.store.snapshot import Snapshot
from scorer.wording import counted, exact_time, printable, sentence

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_AGAIN = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Hand in</title>'
"""A browser does not send the cookie when a link on another site leads here, but does when the page reloads itself."""

_Fields = Mapping[str, list[str]]


# What the page shows


async def show(service: Service, request: Request) -> Response:
    """The page, or the form to sign in."""
    token = await _signed_in(service, request)
    if token is None:
        if request.headers.get("sec-fetch-site") == "cross-site":
            return _html(_AGAIN)
        return _sign_in_page(service, request.query_params, has_invitation=request.url.path.endswith("/invite"))
    return await _page(service, request, token, request.query_params)


async def _page(
    service: Service,
    request: Request,
    token: Token,
    asked: Mapping[str, str],
    refusal: RefusedError | None = None,
    typed: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """The page in the state that its address `asked` names; `typed` are the metadata of an entry that were refused."""
    tracks = service.challenge.tracks
    track = next((track for track in tracks if track.name == asked.get("track")), tracks[0])

    def read(view: Snapshot) -> dict[str, object]:
        now = Now.of(view, track)
        shown_track = (seen := now.seen_by("team")).track
        if shown_track.decimals is None:  # the results of all teams decide
            shown_track = scored_entries(seen).track
        phase = now.phases.current(view.now)
        entry = asked.get("entry", "")
        documents = entry_documents(view, service.challenge, service.followed, track, token.team, entry)
        own = {str(index): documents[index] for index in sorted(documents)}
        shown = shown_names(view, tracks, service.followed.pseudonyms)
        slug = service.followed.slug(now.merges.final(token.team), shown)
        published = published_board(service.challenge, track)
        best_by = "preliminary " if now.phases.all else ""
        held = service.held.of(token.sha256, track.name, asked.get("file", ""), view.now)
        same = same_entry(view, service.followed, track, token.team, held.digest, view.now) if held else None
        picking = [own[index] for index in asked.get("pick", "").split(",") if index in own]
        counts = {each.name: len(service.followed.submissions(each.name, token.team)) for each in tracks}
        return {
            "team": printable(service.followed.settings(token.team).name or token.team),
            "slug": slug,
            "shown_as": shown.get(token.team, ""),
            "names_until": shown_from(names_until(view, tracks)),
            "token_label": token.label,
            "track": shown_track,
            "where": track_document(view, track, service.challenge),
            "phase": phase,
            "grace": with_grace(phase) if phase else "",
            "quota": quota_document(view, service.followed, track, token.team),
            "closed": _why_closed(view, service, track, token.team),
            "entries": [*reversed(own.values())],
            "counts": counts,
            "counting": (entry_rule(now.rules, f"{best_by}{now.rules.primary}"), *pick_rules(now.rules)[:1]),
            "held": held,
            "same": own.get(str(same)),
            "judged": [each.text for each in held.findings if each.code in JUDGING] if held else [],
            "hopeless": _hopeless(held) if held else [],
            "handed_in": own.get(entry),
            "describing": own.get(asked.get("describe", "")),
            "leaving": own.get(asked.get("withdraw", "")),
            "picking": picking,
            "replaced": _replaced(now, documents.values(), picking),
            "problem": refusal.text if refusal else "",
            "typed": typed,
            "wrong": refusal.facts.get("fields", {}) if refusal else _wrong(track, held.metadata) if held else {},
            "new_token": service.sessions.new_token(request),
            "shows_token": asked.get("show") == "token",
            "paused": paused_since(view, track.name),
            "best": max(published.scores.values(), default=None),
            "rows": (rows := published.of_team(slug)),
            "axis": axis_for([*published.scores.values(), *(row.get("high") or 0.0 for row in rows.values())]),
        }

    values = await service.read(read)
    return _html(service_page(service.challenge, "submit.html", **values), refusal.status if refusal else 200)


def _replaced(now: Now, documents: Iterable[AnswerDocument], chosen: Sequence[AnswerDocument]) -> AnswerDocument | None:
    """The entry that counts now and has a better score than all that are picked instead; None without one."""
    track = now.seen_by("team").track

    def score(document: AnswerDocument) -> float:
        shown = document["scores"].get(track.shown_stage, {}).get(track.primary)
        return -math.inf if shown is None else shown

    best = max((score(document) for document in chosen if document["state"] == "scored"), default=-math.inf)
    if track.has_ladder or best == -math.inf:
        return None
    counting = (each for each in documents if each["counts"] and not each["picked"] and each not in chosen)
    return next((document for document in counting if score(document) > best), None)


def _why_closed(view: Snapshot, service: Service, track: Track, team: str) -> str:
    """Why the team cannot hand in a file to the track now, as a sentence; empty if it can."""
    try:
        check_open(view, track, service.followed, team, view.now)
    except RefusedError as refused:
        if refused.code != "closed":
            return f"{sentence(refused.text)}."
        phases = Now.of(view, track).phases
        sentences = [f"Closed on {closing(phase)}." for phase in phases.all if phase.start <= view.now][-1:]
        if upcoming := phases.upcoming(view.now):
            sentences.append(f"The phase {upcoming.name} opens on {exact_time(upcoming.start)}.")
        return " ".join(sentences)
    return ""


def _sign_in_page(
    service: Service, asked: Mapping[str, str], refusal: RefusedError | None = None, *, has_invitation: bool = False
) -> Response:
    """The form to sign in, which leads back to the track and the file of the page."""
    values = {"problem": refusal.text if refusal else "", "asked": dict(asked), "has_invitation": has_invitation}
    return _html(service_page(service.challenge, "sign-in.html", **values), refusal.status if refusal else 200)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})


async def _signed_in(service: Service, request: Request) -> Token | None:
    """The token of the session; None without a valid one."""
    now = service.store.now()
    sha256 = service.sessions.token_of(request, now)
    token = None if sha256 is None else await service.read(lambda _: service.followed.tokens.get(sha256))
    if token is None or not token.is_valid(now):
        service.rates.take(sender(request))
        return None
    service.rates.take(token.sha256)
    return token


# What the forms do


async def act(service: Service, request: Request) -> Response:
    """Carry out a form of the page."""
    token: Token | None = None
    asked: Mapping[str, str] = request.query_params
    typed: dict[str, str] = {}
    try:
        check_same_origin(request)
        token = await _signed_in(service, request)
        if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            return await _check(service, request, _required(token))
        fields = await _fields(request)
        asked = {name: _one(fields, name) for name in ("track", "file", "withdraw", "describe")}
        typed = {name.removeprefix("meta."): _one(fields, name) for name in fields if name.startswith("meta.")}
        action = "check" if "to" in fields else _one(fields, "action")
        if action == "sign-in":
            return await _sign_in(service, request, fields)
        if action not in _ACTIONS:
            raise RefusedError("invalid", "the form has no known action; open the page again")  # noqa: TRY301
        return await _ACTIONS[action](service, request, _required(token), fields)
    except RefusedError as error:
        refusal = error
    except InvalidTokenError:
        refusal = RefusedError("unauthorised", "the invitation was used, has expired or was revoked")
    service.metrics.refused.labels(refusal.code).inc()
    if token is None:
        return _sign_in_page(service, asked, refusal)
    return await _page(service, request, token, asked, refusal, typed)


def _required(token: Token | None) -> Token:
    if token is None:
        raise RefusedError("unauthorised", "you are not signed in any more; sign in again")
    return token


async def _fields(request: Request) -> _Fields:
    try:
        return parse_qs((await small_body(request)).decode("ascii"), max_num_fields=100, keep_blank_values=True)
    except ValueError:
        raise RefusedError("invalid", "the form cannot be read") from None


def _one(fields: _Fields, name: str) -> str:
    return fields.get(name, [""])[0].strip()


async def _sign_in(service: Service, request: Request, fields: _Fields) -> Response:
    """With a token, or with an invitation, which is exchanged for a token."""
    service.rates.take(sender(request), cost=5)
    key, new = _one(fields, "key"), ""
    if key.startswith(PREFIXES["invitation"]):
        _, new = await service.write(redeem, service.store, key)
        key = new
    now, sha256 = service.store.now(), token_digest(key)
    token = await service.read(lambda _: service.followed.tokens.get(sha256))
    if token is None or token.use != "token" or not token.is_valid(now):
        raise RefusedError("unauthorised", "this is no valid token and no invitation; ask the organisers for one")
    response = _back(_one(fields, "track"), file=_one(fields, "file"), show="token" if new else "")
    response.headers["location"] += "#news" if new else ""
    service.sessions.begin(response, sha256, now, new)
    return response


async def _sign_out(service: Service, request: Request, _token: Token, _fields: _Fields) -> Response:
    response = _back()
    service.sessions.end(request, response)
    return response


async def _check(service: Service, request: Request, token: Token) -> Response:
    """Receive a file and check it. The page has no file meanwhile, and then this one until it is handed in."""
    track, most = service.track(request.query_params.get("track", "")), service.challenge.limits.file_mb * MB
    file = request.query_params.get("file", "")
    if earlier := service.held.of(token.sha256, track.name, file, service.store.now()):
        service.held.drop(earlier)
    await service.read(lambda view: check_open(view, track, service.followed, token.team, view.now))
    async with (
        file_form(request, most) as sent,
        received(request, service.incoming(track), most, blocks_of(sent)) as upload,
    ):
        held = await _held(service, token, track, upload, file_name_of(sent) or "your file")
    return _back(track.name, file=held.id)


async def _held(service: Service, token: Token, track: Track, upload: Upload, name: str) -> Held:
    """Check a file, and keep it as the page shows it: it leaves its place. Raises RefusedError."""
    last = last_file(service.followed, track, token.team)
    verdict = await service.checks.of(service.challenge, track.name, upload.path, upload.digest, token.team, last)
    if verdict is None:
        raise RefusedError("unavailable", "the file cannot be checked now; try again")
    stated, problem = await in_thread("disk", _of_head, track, upload.path, service.challenge.limits)
    path = service.incoming(track) / f"{secrets.token_hex(16)}{PART}"
    upload.path.replace(path)
    how = [f". {sentence(each.text)}" for each in verdict.findings if each.code == READ_AS]
    findings, summary = verdict.findings.without(READ_AS), "".join([verdict.summary, *how])
    if verdict.is_valid and problem:
        lines = problem.splitlines()
        findings = Findings([Problem(0, "metadata", {"text": line}) for line in lines], len(lines))
        summary = f"invalid metadata for track {track.name}"
    held = Held(
        id=str(uuid.uuid4()),
        token=token.sha256,
        track=track.name,
        name=name,
        path=path,
        digest=upload.digest,
        size=upload.size,
        at=service.store.now(),
        is_valid=verdict.is_valid and not problem,
        findings=findings,
        summary=summary,
        metadata={each.name: given_of(each, stated).text or "" for each in track.metadata},
    )
    service.held.keep(held)
    return held


def _of_head(track: Track, path: Path, limits: Limits) -> tuple[Stated, str]:
    """What the head of a file states, and what is wrong with it that no field of the page can mend."""
    stated: Stated = {}
    try:
        if track.metadata:
            stated = of_head(path, limits)
            checked(track.metadata, stated)
    except MetadataError as error:
        return stated, error.fields.get("", "")
    return stated, ""


def _wrong(track: Track, values: Mapping[str, str]) -> Mapping[str, str]:
    """What is wrong with metadata, by the names of fields; values that are missing are none of it."""
    given = {name: Given(text) for name, text in values.items()}
    try:
        checked([each for each in track.metadata if values.get(each.name)], given)
    except MetadataError as error:
        return error.fields
    return {}


async def _check_again(service: Service, _request: Request, token: Token, fields: _Fields) -> Response:
    """Check the file of the page for another track."""
    track = service.track(_one(fields, "to"))
    held = _of_page(service, token, fields)
    _keep_typed(held, track, fields)
    await service.read(lambda view: check_open(view, track, service.followed, token.team, view.now))
    service.held.take(held)
    try:
        again = await _held(service, token, track, Upload(held.path, held.digest, held.size), held.name)
    finally:
        held.path.unlink(missing_ok=True)
    again.metadata.update(held.metadata)
    return _back(track.name, file=again.id)


def _keep_typed(held: Held, track: Track, fields: _Fields) -> None:
    """Keep what the team has typed about a checked file when it changes something else on the page."""
    stated = _stated(track, fields)
    held.metadata.update((name, given.text or "") for name, given in stated.items() if f"meta.{name}" in fields)


def _of_page(service: Service, token: Token, fields: _Fields) -> Held:
    """The checked file that a form of its page names. Raises RefusedError."""
    held = service.held.of(token.sha256, _one(fields, "track"), _one(fields, "file"), service.store.now())
    if held is None:
        raise RefusedError("not-found", "this file is not here any more; choose it again")
    return held


async def _hand_in(service: Service, _request: Request, token: Token, fields: _Fields) -> Response:
    async with service.handing_in:
        now, track, file = service.store.now(), _one(fields, "track"), _one(fields, "file")
        if known := service.followed.delivered(track, token.team, file):  # the button was pressed twice
            return _back(track, entry=known[0].index)
        held = _of_page(service, token, fields)
        if not held.is_valid:
            raise RefusedError("invalid", "the file has errors; correct it and choose it again")
        _keep_typed(held, service.track(track), fields)
        await _check_answers(service, token, held, fields)
        upload, stated = Upload(held.path, held.digest, held.size), _stated(service.track(track), fields)
        service.held.take(held)
        try:
            values = await in_thread("disk", examined, service.track(track), service.challenge.limits, upload, stated)
            delivery = Delivery(held.id, track, token.team, upload, now, held.name, token.sha256, values)
            (event, _), _ = await service.accept(delivery)
        except RefusedError:
            service.held.keep(held)
            raise
        return _back(track, entry=event.index)


async def _check_answers(service: Service, token: Token, held: Held, fields: _Fields) -> None:
    """Refuse a file that needs a box of its page, which is not ticked. Raises RefusedError."""
    track, team = service.track(held.track), token.team
    same = await service.read(
        lambda view: same_entry(view, service.followed, track, team, held.digest, service.store.now())
    )
    if same is not None and "again" not in fields:
        raise RefusedError("invalid", f"entry {same} has the same bytes; tick the box above the button")
    if (hopeless := _hopeless(held)) and "although" not in fields:
        raise RefusedError("invalid", f"{hopeless[0]}; tick the box above the button")


def _hopeless(held: Held) -> list[str]:
    """Why a file that can be scored cannot gain anything, by its check."""
    codes = {SCORES_NOTHING, SAME_LISTS}
    return [each.text for each in held.findings if each.code in codes and each.facts.get("variant") != "some"]


def _stated(track: Track, fields: _Fields) -> dict[str, Given]:
    return {each.name: Given(_one(fields, f"meta.{each.name}")) for each in track.metadata}


async def _describe(service: Service, _request: Request, token: Token, fields: _Fields) -> Response:
    track = service.track(_one(fields, "track"))
    await service.correct(track, token.team, _one(fields, "describe"), _stated(track, fields))
    return _back(track.name)


async def _withdraw(service: Service, _request: Request, token: Token, fields: _Fields) -> Response:
    track = service.track(_one(fields, "track"))
    await service.withdraw(track, token.team, _one(fields, "withdraw"))
    return _back(track.name)


async def _pick(service: Service, _request: Request, token: Token, fields: _Fields) -> Response:
    track, chosen = service.track(_one(fields, "track")), fields.get("entry", [])
    most = await service.read(lambda view: Now.of(view, track).rules.picks)
    if len(chosen) > most:
        raise RefusedError("invalid", f"Untick one first: a team picks at most {counted(most, 'entry', 'entries')}.")
    state: dict[str, str] = {"file": _one(fields, "file")}
    if held := service.held.of(token.sha256, track.name, state["file"], service.store.now()):
        _keep_typed(held, track, fields)

    def replaces(view: Snapshot) -> bool:
        documents = entry_documents(view, service.challenge, service.followed, track, token.team)
        picked = [document for document in documents.values() if str(document["index"]) in chosen]
        return _replaced(Now.of(view, track), documents.values(), picked) is not None

    if "sure" not in fields and await service.read(replaces):
        return _back(track.name, **state, pick=",".join(chosen))
    await service.pick(track, token.team, chosen)
    return _back(track.name, **state)


_ACTIONS: Mapping[str, Callable[[Service, Request, Token, _Fields], Awaitable[Response]]] = {
    "sign-out": _sign_out,
    "check": _check_again,
    "hand-in": _hand_in,
    "withdraw": _withdraw,
    "describe": _describe,
    "pick": _pick,
}


def _back(track: str = "", **state: str | int) -> Response:
    """The answer to a form that was carried out: the page again, so that a reload repeats nothing."""
    address = {name: value for name, value in {"track": track, **state}.items() if value}
    return RedirectResponse(f"submit?{urlencode(address)}" if address else "submit", 303)


# Receipts and the token


async def token_file(service: Service, request: Request) -> Response:
    """The token that the session has taken by an invitation, as a file."""
    _required(await _signed_in(service, request))
    if text := service.sessions.new_token(request):
        return Response(f"{text}\n", media_type="text/plain", headers=_attachment("token.txt"))
    raise RefusedError("not-found", "this session has taken no token by an invitation; ask the organisers for one")


async def receipt(service: Service, request: Request) -> Response:
    """The receipt of an entry, or those of all entries of the team in a track, as files."""
    token = _required(await _signed_in(service, request))
    track = service.track(request.path_params["track"])
    which = request.path_params["which"]
    await service.check_record()
    states = service.followed.submissions(track.name, token.team)
    if which != "all":
        states = [service.own_entry(track, token.team, which)]
    texts = {
        receipt_name(state.index, state.submission.file): service.followed.issuer.receipt(
            service.followed.arrival(state.index)[0]
        )
        for state in states
    }
    if which != "all":
        ((name, text),) = texts.items()
        return Response(text, media_type="text/plain", headers=_attachment(name))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return Response(packed.getvalue(), media_type="application/zip", headers=_attachment(f"{track.name}-receipts.zip"))


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
