"""The page for handing in: a team signs in, checks a file, hands it in, and follows its entries, with forms."""

from __future__ import annotations

import io
import secrets
import uuid
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from scorer.board.site.submit_page import Held, service_page
from scorer.files.writing import PART
from scorer.limits import MB
from scorer.live.commitment import receipt_name
from scorer.live.now import Now
from scorer.live.teams import PREFIXES, Token, sha256_of, slugs
from scorer.organising.teams import InvalidTokenError, redeem
from scorer.service.accepting import Delivery, Upload, check_open
from scorer.service.documents import entry_documents, published_scores, quota_document, track_document
from scorer.service.refusals import RefusedError
from scorer.service.state import Service, check_same_origin
from scorer.service.uploads import blocks_of, file_form, received, small_body
from scorer.store.snapshot import Snapshot
from scorer.wording import printable

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_AGAIN = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Hand in</title>'
"""A browser does not send the cookie when a link on another site leads here, but does when the page reloads itself."""

Fields = Mapping[str, list[str]]


# What the page shows


async def show(service: Service, request: Request) -> Response:
    """The page, or the form to sign in."""
    token = await _signed_in(service, request)
    if token is None:
        if request.headers.get("sec-fetch-site") == "cross-site":
            return _html(_AGAIN)
        return _sign_in_page(service)
    return await _page(service, token, request.query_params.get("track"))


async def _page(service: Service, token: Token, name: str | None, problem: str = "", status: int = 200) -> Response:
    tracks = service.challenge.tracks
    track = next((track for track in tracks if track.name == name), tracks[0])

    def read(view: Snapshot) -> dict[str, object]:
        now = Now.of(view, track)
        phase = now.phases.current(view.now)
        own = entry_documents(view, service.challenge, service.followed, track, token.team)
        counts = {each.name: len(service.followed.submissions(each.name, token.team)) for each in tracks}
        return {
            "team": printable(service.followed.settings(token.team).name or token.team),
            "slug": slugs(service.followed.teams).get(now.merges.final(token.team), ""),
            "token_label": token.label,
            "track": now.track,
            "where": track_document(view, track, service.challenge),
            "until": phase.closes if phase is not None else None,
            "quota": quota_document(view, service.followed, track, token.team),
            "entries": [own[index] for index in sorted(own, reverse=True)],
            "counts": counts,
            "held": service.held.of(token.team, view.now),
            "problem": problem,
            "best": published_scores(service.challenge, track).best,
        }

    values = await service.read(read)
    return _html(service_page(service.challenge, "submit.html", **values), status)


def _sign_in_page(
    service: Service, problem: str = "", *, team: str = "", token: str = "", status: int = 200
) -> Response:
    page = service_page(service.challenge, "sign-in.html", problem=problem, token=token, team=team)
    return _html(page, status)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})


async def _signed_in(service: Service, request: Request) -> Token | None:
    """The token of the session; None without a valid one."""
    now = service.store.now()
    sha256 = service.sessions.token_of(request, now)
    token = None if sha256 is None else await service.read(lambda _: service.followed.tokens.get(sha256))
    if token is None or not token.is_valid(now):
        service.rates.take(request.client.host if request.client else "")
        return None
    service.rates.take(token.sha256)
    return token


# What the forms do


async def act(service: Service, request: Request) -> Response:
    """Carry out a form of the page."""
    token: Token | None = None
    fields: Fields = {}
    try:
        check_same_origin(request)
        token = await _signed_in(service, request)
        if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            return await _check(service, request, _required(token))
        fields = await _fields(request)
        action = _one(fields, "action")
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
        return _sign_in_page(service, refusal.text, status=refusal.status)
    return await _page(service, token, _one(fields, "track"), refusal.text, refusal.status)


def _required(token: Token | None) -> Token:
    if token is None:
        raise RefusedError("unauthorised", "you are not signed in any more; sign in again")
    return token


async def _fields(request: Request) -> Fields:
    try:
        return parse_qs((await small_body(request)).decode("ascii"), max_num_fields=100, keep_blank_values=True)
    except ValueError:
        raise RefusedError("invalid", "the form cannot be read") from None


def _one(fields: Fields, name: str) -> str:
    return fields.get(name, [""])[0].strip()


async def _sign_in(service: Service, request: Request, fields: Fields) -> Response:
    """With a token, or with an invitation, which is exchanged for a token."""
    service.rates.take(request.client.host if request.client else "", cost=5)
    key, new = _one(fields, "key"), ""
    if key.startswith(PREFIXES["invitation"]):
        _, new = await service.write(lambda: redeem(service.store, key))
        key = new
    now, sha256 = service.store.now(), sha256_of(key)
    token = await service.read(lambda _: service.followed.tokens.get(sha256))
    if token is None or token.use != "token" or not token.is_valid(now):
        raise RefusedError("unauthorised", "this is no valid token and no invitation; ask the organisers for one")
    team = printable(service.followed.settings(token.team).name or token.team)
    response = _sign_in_page(service, team=team, token=new, status=201) if new else _back("")
    service.sessions.begin(response, sha256, now)
    return response


async def _sign_out(service: Service, request: Request, _token: Token, _fields: Fields) -> Response:
    response = _back("")
    service.sessions.end(request, response)
    return response


async def _check(service: Service, request: Request, token: Token) -> Response:
    """Receive a file and check it; it is kept until the team hands it in or checks another one."""
    most = service.challenge.limits.file_mb * MB
    async with file_form(request, most) as (fields, file):
        track = service.track(fields.get("track", ""))
        folder = service.incoming(track)
        await service.read(lambda view: check_open(view, track, service.followed, token.team, view.now))
        async with received(request, folder, most, blocks_of(file)) as upload:
            answer = await service.checks.of(service.challenge.root, track.name, upload.path, upload.digest, token.team)
            if answer is None:
                raise RefusedError("unavailable", "the file cannot be checked now; try again")
            held = _held(upload, track.name, file.filename or "", answer, service.store.now())
            service.held.keep(token.team, held)
    return _back(track.name)


def _held(upload: Upload, track: str, name: str, answer: Mapping[str, Any], now: datetime) -> Held:
    """The file as the page shows it; it leaves the place of the upload."""
    path = upload.path.with_name(f"{secrets.token_hex(16)}{PART}")
    upload.path.replace(path)
    lines = [_line(message) for message in answer["messages"]]
    return Held(
        id=str(uuid.uuid4()),
        track=track,
        name=printable(name.rpartition("/")[2].rpartition("\\")[2])[:200] or "your file",
        path=path,
        digest=upload.digest,
        size=upload.size,
        at=now,
        is_valid=answer["valid"],
        findings=lines[:-1],
        summary=lines[-1][1] if lines else "",
    )


def _line(message: str) -> tuple[str, str]:
    line, colon, text = message.partition(":")
    return (line, text.strip()) if colon and line.isdigit() else ("", message)


async def _hand_in(service: Service, _request: Request, token: Token, fields: Fields) -> Response:
    async with service.handing_in:
        now = service.store.now()
        held = service.held.of(token.team, now)
        sent = _one(fields, "track"), token.team, _one(fields, "file")
        if sent in service.followed.deliveries:  # the button was pressed twice
            return _back(sent[0])
        if held is None or held.id != _one(fields, "file"):
            raise RefusedError("not-found", "this file is not here any more; choose it again")
        if not held.is_valid:
            raise RefusedError("invalid", "the file has errors; correct it and choose it again")
        upload = Upload(held.path, held.digest, held.size)
        service.held.take(token.team)
        try:
            await service.accept(Delivery(held.id, held.track, token.team, upload, now, held.name, token.sha256))
        except RefusedError:
            if service.held.of(token.team, now) is None:
                service.held.keep(token.team, held)
            else:  # another file was checked meanwhile
                held.path.unlink(missing_ok=True)
            raise
        return _back(held.track)


async def _withdraw(service: Service, _request: Request, token: Token, fields: Fields) -> Response:
    track = service.track(_one(fields, "track"))
    await service.withdraw(track, token.team, _one(fields, "entry"))
    return _back(track.name)


async def _pick(service: Service, _request: Request, token: Token, fields: Fields) -> Response:
    track = service.track(_one(fields, "track"))
    await service.pick(track, token.team, fields.get("entry", []))
    return _back(track.name)


_ACTIONS: Mapping[str, Callable[[Service, Request, Token, Fields], Awaitable[Response]]] = {
    "sign-out": _sign_out,
    "hand-in": _hand_in,
    "withdraw": _withdraw,
    "pick": _pick,
}


def _back(track: str) -> Response:
    """The answer to a form that was carried out: the page again, so that a reload repeats nothing."""
    return RedirectResponse(f"submit?{urlencode({'track': track})}" if track else "submit", 303)


# Receipts


async def receipt(service: Service, request: Request) -> Response:
    """The receipt of an entry, or those of all entries of the team in a track, as files."""
    token = _required(await _signed_in(service, request))
    track = service.track(request.path_params["track"])
    which = request.path_params["which"]
    states = service.followed.submissions(track.name, token.team)
    if which != "all":
        states = [service.own_entry(track, token.team, which)]
    texts = {
        receipt_name(state.index, state.submission.file): service.followed.issuer.receipt(
            service.followed.arrivals[state.index]
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
