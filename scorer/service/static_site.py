"""The site as files."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope


class Site(StaticFiles):
    """The site of a challenge, without hidden files."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)

    async def check_config(self) -> None:
        """Check nothing at the first request: the folder may be made later."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The response for a path."""
        if any(part.startswith(".") for part in Path(path).parts if part != "."):
            raise HTTPException(404)
        try:
            response = await super().get_response(path, scope)
        except ValueError:  # no file can have this name
            raise HTTPException(404) from None
        except HTTPException:
            if not Path(self.directory or "").is_dir():
                raise HTTPException(503, "the site is not rendered yet; reload the page in a moment") from None
            raise
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-cache"  # a browser asks whether its copy is the present one
        return response
