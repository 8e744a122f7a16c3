"""Pages that the service adds to the site: an invitation is opened in a browser. And the site itself, as files."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from scorer.service.uploads import small_body
from scorer.wording import escape_html

_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
{script}</body>
</html>
"""

_INVITATION = """\
{note}<p>The organisers have invited a team. Take the token of the team here. It is shown once: keep it in a safe
place.</p>
<form method="post" action="invite">
<p><label for="invitation">Invitation, the part of the link after #</label><br>
<input id="invitation" name="invitation" required autocomplete="off" size="50"></p>
<p><button>Take the token</button></p>
</form>
"""

_SHOWN = """\
<p>This is the token of the team {team}. It is shown only now, and the invitation cannot be used again.</p>
<p><code>{token}</code></p>
<p>Put it into the environment as <code>SCORER_TOKEN</code>, or into a file that only you can read, and hand in files
with <code>scorer submit</code>. Whoever has the token can hand in files for the team.</p>
"""

FILL = 'document.getElementById("invitation").value = location.hash.slice(1);\n'
"""The script of the page of an invitation. The part of a link after # is not sent to the server."""


def invitation_page(challenge: str, *, is_invalid: bool = False) -> Response:
    """The page that exchanges an invitation for a token."""
    note = "<p><strong>The invitation was used, has expired or was revoked.</strong></p>\n" if is_invalid else ""
    body = _INVITATION.format(note=note)
    return _page(f"{challenge}: invitation", body, '<script src="invite.js"></script>\n', 403 if is_invalid else 200)


def token_page(challenge: str, team: str, token: str) -> Response:
    """The page that shows a token, once."""
    return _page(f"{challenge}: token", _SHOWN.format(team=escape_html(team), token=escape_html(token)), "", 201)


def _page(title: str, body: str, script: str, status: int) -> Response:
    text = _PAGE.format(title=escape_html(title), body=body, script=script)
    return HTMLResponse(text, status, {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"})


async def form_value(request: Request, name: str) -> str:
    """A value of a form; empty without one."""
    try:
        fields = parse_qs((await small_body(request)).decode("ascii"), max_num_fields=10)
    except ValueError:
        return ""
    return fields.get(name, [""])[0].strip()


class Site(StaticFiles):
    """The site of a challenge, without hidden files."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The response for a path."""
        if any(part.startswith(".") for part in Path(path).parts if part != "."):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-cache"  # a browser asks whether its copy is the present one
        return response
