"""``scorer serve``: a service to which teams hand in files."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import Parser, add_challenge, open_challenge, whole_number
from scorer.cli.console import print_message
from scorer.errors import ChallengeError

EXTRA = "the service needs more packages; install them with `pip install 'challenge-scorer[serve]'`"


def add_service(parser: Parser) -> None:
    """Add the arguments of ``serve``."""
    add_challenge(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at; default: %(default)s")
    parser.add_argument(
        "--port",
        type=whole_number(0, 65_535),
        default=8000,
        metavar="NUMBER",
        help="default: %(default)s; 0: a free one",
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="the address of a proxy in front of the service, whose X-Forwarded-For is true; may be repeated",
    )
    parser.add_argument("--no-runner", action="store_true", help="score nothing: `scorer run` does, or another machine")
    parser.add_argument(
        "--executor", metavar="NAME", help="where to score, as for `scorer run`; default: processes of this machine"
    )


def serve(challenge: Path, host: str, port: int, proxy: list[str], no_runner: bool, executor: str | None) -> int:
    """Serve the site, receive files from teams, and score them while the command runs.

    A team needs a token, which `scorer teams token` or `scorer teams invite` issues, and hands in files with
    `scorer submit` or with any HTTP client. The command scores what is handed in and renders the site, in another
    process. It ends with SIGTERM or Ctrl-C; requests in progress are completed before.

    The service speaks HTTP. In public, put a proxy with TLS in front of it, as docs/serving.md shows.
    """
    import logging

    settings, _ = open_challenge(challenge, None)
    try:
        from scorer.service.serving import Address, serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("scorer"):
            raise
        raise ChallengeError(EXTRA) from error
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    runner = None if no_runner else ([] if executor is None else ["--executor", executor])
    try:
        serve(settings, Address(host, port, proxy), runner=runner)
    except OSError as error:
        print_message(f"{host}:{port}: the service cannot start: {error.strerror or error}")
        return 1
    return 0
