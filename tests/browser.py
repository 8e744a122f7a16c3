"""Pages in headless Chromium, controlled through its debugging pipe: JSON messages that end with NUL."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

Message = dict[str, Any]

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


def chromium() -> str | None:
    """The command that starts the browser; None where it is not installed."""
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


IN_BROWSER = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")]
"""Marks tests that need the browser."""


@dataclass
class Page:
    """A tab that records the errors and the network requests of its page."""

    commands: int
    answers: int
    session: str = ""
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _unread: bytes = b""

    def open(
        self,
        address: str,
        *,
        scripts: bool = True,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        forced_colours: bool = False,
        medium: str = "",
    ) -> None:
        """Load a page from scratch and wait until it is complete; `medium` may be "print"."""
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width, height)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "forced-colors", "value": "active" if forced_colours else "none"},
        ]
        self.send("Emulation.setEmulatedMedia", media=medium, features=features)
        self.send("Emulation.setScrollbarsHidden", hidden=True)
        self._load("about:blank")
        self.errors.clear()
        self.requests.clear()
        self._load(address)

    def _load(self, address: str) -> None:
        """Load a page, and wait until this one is complete: the one before may load itself again meanwhile."""
        loader = self.send("Page.navigate", url=address)["loaderId"]
        loaded: Message = {}
        while (loaded.get("loaderId"), loaded.get("name")) != (loader, "load"):
            message = self._read()
            loaded = message["params"] if message.get("method") == "Page.lifecycleEvent" else {}

    def resize(self, width: int, height: int = 900) -> None:
        """Change the size of the window. The page stays open, which is faster than to open it again."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression evaluated in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key, as "Tab", "Enter", " " or "Escape"."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowDown": 40}
        event = {"key": key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", " ": " "}.get(key, "")
        self.send("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def picture(self, path: Path) -> None:
        """Write an image of the whole page, as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self, *, landscape: bool = False) -> bytes:
        """The page as it is printed on A4."""
        size = {"paperWidth": 8.27, "paperHeight": 11.69}
        answer = self.send("Page.printToPDF", landscape=landscape, preferCSSPageSize=True, **size)
        return base64.b64decode(answer["data"])

    def send(self, method: str, **parameters: Any) -> Message:
        """Send a command and return its answer."""
        number = next(self._numbers)
        message: Message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: Message = answer["result"]
                return result

    def _read(self) -> Message:
        while b"\0" not in self._unread:
            block = os.read(self.answers, 1 << 20)
            if not block:
                raise AssertionError("the browser ended")
            self._unread += block
        text, self._unread = self._unread.split(b"\0", 1)
        message: Message = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, details: Mapping[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(details["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.errors.append(details["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """Start a browser with one tab and an empty profile in the folder `profile`; end it with the context."""
    command = chromium()
    assert command is not None
    command_end, commands = os.pipe()
    answers, answer_end = os.pipe()
    # The browser reads commands from its descriptor 3 and writes answers to its descriptor 4.
    redirected = 'exec "$@" 3<&"$READ" 4>&"$WRITE"'
    process = subprocess.Popen(
        ["bash", "-c", redirected, "bash", command, *SWITCHES, f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(command_end, answer_end),
        env={**os.environ, "READ": str(command_end), "WRITE": str(answer_end)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(command_end)
    os.close(answer_end)
    try:
        page = Page(commands, answers)
        target = page.send("Target.createTarget", url="about:blank")["targetId"]
        page.session = page.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Page.setLifecycleEventsEnabled", enabled=True)
        yield page
        page.session = ""
        page.send("Browser.close")
    finally:
        os.close(commands)
        os.close(answers)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
