"""The page for handing in, in a real browser at a real service: with and without JavaScript."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scorer.organising.teams import issue
from tests.accessibility import has_axe, violations
from tests.browser import IN_BROWSER, Page
from tests.commands import here
from tests.live_challenges import GOOD, Live
from tests.service.test_service_processes import Server, opened, serving

pytestmark = IN_BROWSER

WAIT = 60.0

PHASE = """\
[[tracks.main.phases]]
name = "main"
start = 2020-01-01T00:00:00Z
end = 2090-01-01T00:00:00Z
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server]]:
    """A service whose loop scores, and its folder."""
    folder = tmp_path_factory.mktemp("served") / "live"
    Live.graded(folder, rules='entry = "picks"\n', phases=PHASE)
    assert here("run", folder).code == 0
    with serving(folder) as found:
        yield folder, found


def until(tab: Page, condition: str) -> None:
    """Wait until an expression holds in the page."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            if tab.ask(condition):
                return
        except AssertionError:  # the page is being replaced
            pass
        time.sleep(0.05)
    raise AssertionError(f"never: {condition}\n{tab.ask('document.body.innerText')}")


def choose(tab: Page, file: Path) -> None:
    """Choose a file in the form."""
    tab.send("DOM.enable")
    root = tab.send("DOM.getDocument")["root"]["nodeId"]
    field = tab.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    tab.send("DOM.setFileInputFiles", files=[str(file)], nodeId=field)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_from_an_invitation_to_a_score_and_a_receipt(
    server: tuple[Path, Server], only_tab: Page, tmp_path: Path, scripts: bool
) -> None:
    """By the keyboard or by the mouse, at every size, without a fault of accessibility."""
    tab, (folder, service) = only_tab, server
    team = "amber" if scripts else "birch"
    with opened(folder) as store:
        invitation = issue(store, team, "invitation")
    tab.send("Storage.clearCookies")
    tab.open(f"{service.address}/invite#{invitation}", scripts=scripts)
    if scripts:
        until(tab, "location.hash === ''")
        assert tab.ask("document.getElementById('key').value") == invitation
        tab.ask("document.getElementById('key').focus()")
        tab.press("Enter")
    else:
        tab.ask(f"document.getElementById('key').value = '{invitation}'")
        tab.ask("document.querySelector('button').click()")
    until(tab, "document.body.innerText.includes('It is shown only now')")
    assert invitation not in tab.ask("location.href")

    file = tmp_path / "wider net.txt"
    file.write_text(GOOD.replace("q2:d,e", "q2:d,e,e"))
    tab.open(f"{service.address}/submit", scripts=scripts)
    choose(tab, file)
    if not scripts:
        tab.ask("document.querySelector('form.check button').click()")
    until(tab, "document.body.innerText.includes('is listed twice')")
    for width in (1440, 390):
        tab.resize(width)
        assert tab.ask("document.documentElement.scrollWidth") <= width
    tab.ask("document.querySelector('.hand-in button').click()")
    until(tab, "document.querySelectorAll('#entries tbody tr').length === 1")
    if scripts:
        assert tab.ask("location.pathname + location.search") == "/submit?track=main"
    while not tab.ask("document.querySelector('#entries .counts') !== null"):  # with scripts the page looks itself
        time.sleep(0.3)
        if not scripts:
            tab.open(f"{service.address}/submit", scripts=False)
    if scripts:  # a team that is signed in is pinned on the pages of the site
        until(tab, f"document.querySelector('#facts').dataset.team === '{team}'")
        tab.open(f"{service.address}/submit")
        assert tab.ask("document.querySelector('header a.own').pathname") == f"/teams/{team}.html"
        tab.open(f"{service.address}/main/index.html")
        assert tab.ask("document.querySelector('#board .pinned bdi').textContent") == team
        tab.open(f"{service.address}/submit")
    index = tab.ask("document.querySelector('#entries .number').innerText")
    assert tab.ask("document.querySelector('#entries tbody .score').innerText") == "1.0000"
    assert tab.ask("document.querySelector('#entries .file').innerText") == "wider-net.txt"

    tab.ask("document.querySelector('.pick input').click()")
    if not scripts:
        tab.ask("document.querySelector('#picks button').click()")
    until(tab, "document.querySelector('.pick').innerText.includes('picked')")
    receipt = tmp_path / f"{index}-wider-net.receipt.txt"
    tab.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    tab.ask("document.querySelector('.receipt a').click()")
    end = time.monotonic() + WAIT
    while not receipt.exists() and time.monotonic() < end:
        time.sleep(0.05)
    site = folder / "site"
    verified = here("verify", "receipt", receipt, "--key", site / "receipts.pem", "--file", file)
    assert verified.code == 0, verified.out
    assert re.search(
        rf"note    {team} handed in main/{team}/\S+-wider-net.txt, received .* in the phase main", verified.out
    )
    assert tab.errors == []


@pytest.mark.skipif(not has_axe(), reason="axe-core is not installed; pip install challenge-scorer[browser]")
def test_the_page_is_accessible(server: tuple[Path, Server], only_tab: Page, tmp_path: Path) -> None:
    """Signed out and signed in, with a valid and an invalid file, narrow and wide, light and dark."""
    tab, (folder, service) = only_tab, server
    with opened(folder) as store:
        token = issue(store, "cedar", "token", "laptop")
    tab.send("Storage.clearCookies")
    tab.open(f"{service.address}/submit")
    assert violations(tab) == []
    tab.ask(f"document.getElementById('key').value = '{token}'; document.querySelector('button').click()")
    until(tab, "document.body.innerText.includes('signed in as')")
    valid, invalid = tmp_path / "a.txt", tmp_path / "b.txt"
    valid.write_text(GOOD)
    invalid.write_text("q1:a,,b\n")
    tab.open(f"{service.address}/submit")
    choose(tab, valid)
    until(tab, "document.querySelector('.hand-in') !== null")
    tab.ask("document.querySelector('.hand-in button').click()")
    until(tab, "document.querySelector('#entries .score') !== null")
    choose(tab, invalid)
    until(tab, "document.querySelector('.hand-in button:disabled') !== null")
    for width, dark in ((1440, False), (390, False), (1024, True)):
        tab.open(f"{service.address}/submit", width=width, dark=dark)
        assert violations(tab) == []
        assert tab.ask("document.documentElement.scrollWidth") <= width
