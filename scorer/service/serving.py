"""Serving: the web server in this process, and the loop that scores and renders in another one."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from scorer.challenge.settings import Challenge
from scorer.organising.watch import ENDS_WITH_PARENT
from scorer.service.app import application
from scorer.service.connections import CONNECTIONS, BoundedProtocol
from scorer.service.problems import without_tracebacks
from scorer.service.state import Service
from scorer.store.store import Store

log = logging.getLogger("scorer.service")

RESTART_EVERY, RESTART_AT_MOST = 2.0, 60.0
"""Seconds until the loop that scores is started again, if it ends before the service: at first, and after it has ended
again and again. They double each time, until it has run for the longer time.
"""

STOP_WITHIN = 20
"""Seconds that requests have to end when the service stops."""

_GARBAGE = 2000
"""Python searches for garbage after so many new objects. Commands that end soon search less often; here the garbage of
many requests would take 20 MB.
"""

_NICE = 10
"""The loop leaves the processors to the web server when both need them."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service listens."""

    host: str
    port: int
    proxies: Sequence[str] = ()
    """The addresses of proxies, whose headers say which address a request comes from."""


def serve(challenge: Challenge, address: Address, *, runner: Sequence[str] | None) -> None:
    """Serve a challenge until the process gets SIGTERM or SIGINT.

    `runner` has the arguments of the loop that scores, after `scorer run --watch`; None: another process scores. Raises
    ChallengeError, StoreError, and OSError if the address is in use.
    """
    gc.set_threshold(_GARBAGE)
    with Store.open(challenge.database_address) as store, _listening(address) as listening:
        service = Service.open(challenge, store)
        config = uvicorn.Config(
            without_tracebacks(application(service)),
            http=BoundedProtocol,
            log_level="warning",
            access_log=False,
            proxy_headers=bool(address.proxies),
            forwarded_allow_ips=list(address.proxies),
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=STOP_WITHIN,
            server_header=False,
            h11_max_incomplete_event_size=16_384,
        )
        server = _Server(config, service)
        for wanted in (signal.SIGTERM, signal.SIGINT):
            signal.signal(wanted, lambda *_: None)  # uvicorn raises it again once it has stopped
        with _runner(service, runner):
            log.info("http://%s:%d", *listening.getsockname()[:2])
            server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that accepts no further delivery once it is about to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: object) -> None:
        """End the server by a signal."""
        self._service.draining = True
        self._service.checks.stop()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


@contextmanager
def _listening(address: Address) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        yield listening


@contextmanager
def _runner(service: Service, arguments: Sequence[str] | None) -> Iterator[None]:
    """The loop that scores, which is started again if it ends."""
    if arguments is None:
        yield
        return
    stopped = threading.Event()
    keeper = threading.Thread(target=_keep_running, args=(service, arguments, stopped), name="runner")
    keeper.start()
    try:
        yield
    finally:
        stopped.set()
        keeper.join()


def _keep_running(service: Service, arguments: Sequence[str], stopped: threading.Event) -> None:
    root = str(service.challenge.root)
    command = [sys.executable, "-P", "-m", "scorer", "run", "--watch", "--challenge", root, *arguments]

    def is_ending() -> bool:
        return stopped.is_set() or service.draining

    pause = RESTART_EVERY / 2
    while not is_ending():
        began = time.monotonic()
        # Its own session: a Ctrl-C in the terminal reaches only this process, which then ends the loop.
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, ENDS_WITH_PARENT: str(os.getpid())},
        )
        _be_nice(process.pid)
        while process.poll() is None and not stopped.wait(0.1):
            pass
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return
        if is_ending():  # the same signal has ended it
            return
        was_replaced = service.store.database.is_replaced
        while service.store.database.is_replaced and not stopped.wait(RESTART_EVERY):
            pass
        if was_replaced:  # the loop has said so
            continue
        ran = time.monotonic() - began
        pause = RESTART_EVERY if ran > RESTART_AT_MOST else min(2 * pause, RESTART_AT_MOST)
        log.error(
            "the loop that scores ended with exit code %d; it is started again in %d seconds",
            process.returncode,
            pause,
        )
        stopped.wait(pause)


def _be_nice(process: int) -> None:
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, process, _NICE)
