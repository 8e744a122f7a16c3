"""The page for handing in, in a real browser at a real service: with and without JavaScript."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scorer.organising.teams import issue
from scorer.organising.watch import ALIVE
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.accessibility import has_axe, violations
from tests.browser import IN_BROWSER, Page
from tests.commands import here
from tests.live_challenges import GOOD, Live
from tests.service.test_service_processes import Server, opened, serving

pytestmark = IN_BROWSER

WAIT = 60.0

PHASE = """\
[[tracks.{name}.phases]]
name = "main"
start = 2020-01-01T00:00:00Z
end = 2090-01-01T00:00:00Z
"""

FIELDS = """
[[metadata]]
name = "system"
title = "System"
required = true
[[metadata]]
name = "seconds"
title = "Time"
type = "number"
"""

HOUR = datetime.now(UTC).hour
"""Noon in the zone of the quota, so that no day of it ends within the tests."""

RULES = f'entry = "picks"\nquota = {{per_day = 4, zone = "UTC{12 - HOUR:+d}"}}\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server]]:
    """A service whose loop scores, and its folder. The phase of the track "past" has closed."""
    folder = tmp_path_factory.mktemp("served") / "live"
    live = Live.graded(folder, rules=RULES, phases=PHASE, tracks=("main", "pooled", "past"))
    before, name, past = (folder / "challenge.toml").read_text().partition("[tracks.past]")
    (folder / "challenge.toml").write_text(before + name + past.replace("2090", "2021"))
    assert here("run", live.folder).code == 0
    with serving(folder) as found:
        yield folder, found


def until(tab: Page, condition: str, again: str = "") -> None:
    """Wait until an expression holds in a page that is complete; `again` is the address of one to open again."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            if tab.ask(f"document.readyState === 'complete' && ({condition})"):
                return
        except AssertionError:  # the page is being replaced, or has no such element yet
            pass
        time.sleep(0.05)
        if again:
            tab.open(again)
    raise AssertionError(f"never: {condition}\n{tab.ask('document.body.innerText')}")


def click(tab: Page, selector: str, text: str = "") -> None:
    """Click on an element with a text, in a page that is complete and waits for no answer to a form."""
    found = f"[...document.querySelectorAll('{selector}')].find((each) => each.innerText.includes('{text}'))"
    until(tab, f"!document.body.hasAttribute('aria-busy') && ({found}.click(), true)")


def choose(tab: Page, file: Path) -> None:
    """Choose a file in the form of a page that is complete."""
    until(tab, "!document.body.hasAttribute('aria-busy')")
    tab.send("DOM.enable")
    root = tab.send("DOM.getDocument")["root"]["nodeId"]
    field = tab.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    tab.send("DOM.setFileInputFiles", files=[str(file)], nodeId=field)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_from_an_invitation_to_a_score_and_a_receipt(
    server: tuple[Path, Server], only_tab: Page, tmp_path: Path, scripts: bool
) -> None:
    """With two clicks and a choice of a file, or three without scripts; at every size."""
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
        click(tab, "button")
    until(tab, "document.body.innerText.includes('The invitation cannot be used again')")
    if scripts:  # which axe needs
        is_accessible(tab)
    assert invitation not in tab.ask("location.href")

    file = tmp_path / "wider net.txt"
    file.write_text(GOOD.replace("q2:d,e", "q2:d,e,e"))
    choose(tab, file)
    if not scripts:
        click(tab, "form.check button")
    until(tab, "document.body.innerText.includes('is listed twice')")
    for width in (1440, 390):
        tab.resize(width)
        assert tab.ask("document.documentElement.scrollWidth") <= width
    top = "document.querySelector('{}').getBoundingClientRect().top"
    until(tab, f"{top.format('.found')} < {top.format('.hand-in button')}")  # on a phone, nobody overlooks them
    click(tab, ".hand-in button")
    until(tab, "document.querySelectorAll('#entries tbody tr').length === 1")
    assert re.fullmatch(r"/submit\?track=main&entry=\d+", tab.ask("location.pathname + location.search"))
    until(tab, "document.querySelector('#entries .counts') !== null")  # the page looks itself, in both ways
    until(tab, "document.getElementById('handed-in').innerText.includes(', rank 1')")  # the board has it
    if scripts:  # a team that is signed in is pinned on the pages of the site
        until(tab, f"document.querySelector('#facts').dataset.team === '{team}'")
        tab.open(f"{service.address}/submit")
        assert tab.ask("document.querySelector('header a.own').pathname") == f"/teams/{team}.html"
        board = f"{service.address}/main/index.html"  # which follows in a moment
        until(tab, f"document.querySelector('#board .pinned bdi').textContent === '{team}'", board)
        tab.open(f"{service.address}/submit")
    index = tab.ask("document.querySelector('#entries .number').innerText")
    assert tab.ask("document.querySelector('#entries tbody .score').innerText") == "1.0000"
    assert tab.ask("document.querySelector('#entries .file').innerText") == "wider-net.txt"

    click(tab, ".pick input")
    if not scripts:
        click(tab, "#picks button")
    until(tab, "document.querySelector('.pick').innerText.includes('picked')")
    receipt = tmp_path / f"{index}-wider-net.receipt.txt"
    tab.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    click(tab, ".receipt a")
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


def is_accessible(tab: Page) -> None:
    """Check the page wide and narrow, where axe is installed."""
    for width in (390, 1280) if has_axe() else ():
        tab.resize(width)
        assert violations(tab) == []


class Hand:
    """A person at the page, with or without JavaScript."""

    def __init__(self, tab: Page, server: tuple[Path, Server], team: str, *, scripts: bool) -> None:
        self.tab, self.scripts = tab, scripts
        self.address = f"{server[1].address}/submit"
        with opened(server[0]) as store:
            self.tokens = [issue(store, team, "token", name) for name in ("laptop", "desk")]
        self.sign_in(self.tokens[0])

    def sign_in(self, token: str) -> None:
        self.tab.send("Storage.clearCookies")
        self.open()
        self.tab.ask(f"document.getElementById('key').value = '{token}'")
        self.click("button")
        self.sees("signed in as")

    def open(self, track: str = "main") -> None:
        self.tab.open(f"{self.address}?track={track}", scripts=self.scripts)

    def check(self, file: Path) -> None:
        choose(self.tab, file)
        if not self.scripts:
            self.click("form.check button")

    def click(self, selector: str, text: str = "") -> None:
        click(self.tab, selector, text)

    def sees(self, text: str) -> None:
        """Wait until the page has a text."""
        until(self.tab, f"document.body.innerText.includes('{text}')")

    def button(self) -> str:
        """What the button says that hands in; empty without one."""
        text: str = self.tab.ask("(document.querySelector('.hand-in button') || {innerText: ''}).innerText")
        return text

    def hand_in(self, file: Path) -> int:
        """Check a file, and hand it in; return the number of the entry."""
        self.check(file)
        self.click(".hand-in button", file.name)
        self.sees(f"{file.name} is handed in")
        index: int = self.tab.ask("Number(new URLSearchParams(location.search).get('entry'))")
        return index


def files(folder: Path, count: int) -> list[Path]:
    """Valid files with different bytes."""
    found = [folder / f"list-{number}.txt" for number in range(count)]
    for number, file in enumerate(found):
        file.write_text(GOOD.replace("q4:a", f"q4:a,x{number}"))
    return found


def test_a_checked_file_belongs_to_its_page_its_track_and_its_session(
    server: tuple[Path, Server], only_tab: Page, tmp_path: Path
) -> None:
    """Another track or file clears it or checks again; another tab or token does not see it."""
    hand = Hand(only_tab, server, "dahlia", scripts=True)
    first, second = files(tmp_path, 2)
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    hand.open()
    hand.check(first)
    hand.sees("Hand in list-0.txt to Main (4 of 4 left today)")
    one = hand.tab.ask("location.href")

    hand.open()  # in another tab
    assert hand.button() == ""
    hand.check(second)
    hand.sees("Hand in list-1.txt to Main")
    other = hand.tab.ask("location.href")
    hand.tab.open(one)
    assert hand.button() == "Hand in list-0.txt to Main (4 of 4 left today)"

    hand.click(".new button.link", "Pooled")  # checked again, for the other track
    hand.sees("Hand in list-0.txt to Pooled (4 of 4 left today)")
    hand.click(".new button.link", "Past")
    hand.sees("No phase receives files now")

    hand.sign_in(hand.tokens[1])  # of a member of the same team
    hand.tab.open(other)
    assert hand.button() == ""
    assert "list-1.txt" not in hand.tab.ask("document.body.innerText")
    hand.check(first)
    hand.sees("Hand in list-0.txt to Main")
    hand.check(empty)
    hand.sees('The file "empty.txt" is empty; choose a file')
    assert hand.button() == ""
    assert "list-0.txt" not in hand.tab.ask("document.body.innerText")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_hopeless_file_is_not_handed_in_by_one_click(
    server: tuple[Path, Server], only_tab: Page, tmp_path: Path, scripts: bool
) -> None:
    """The first sentence says why; the plain button needs a box. The card then compares both entries."""
    hand = Hand(only_tab, server, "fir" if scripts else "fig", scripts=scripts)
    (first,) = files(tmp_path, 1)
    same = tmp_path / "same.txt"
    same.write_text("".join(reversed(first.read_text().splitlines(keepends=True))))
    index = hand.hand_in(first)
    until(hand.tab, "document.querySelector('#entries .counts') !== null")
    hand.check(same)
    hand.sees("All of its 4 lists are those of your last entry. The file can be scored")
    hand.click(".hand-in button", "Hand in same.txt")
    assert hand.tab.ask("document.querySelector('.hand-in input:invalid').name") == "although"
    assert hand.tab.ask("document.querySelectorAll('#entries tbody tr').length") == 1
    assert hand.tab.ask("document.querySelector('.hand-in .button')") is None
    if scripts:
        is_accessible(hand.tab)
    hand.click(".hand-in input[name=although]")
    hand.click(".hand-in button", "Hand in same.txt")
    hand.sees("same.txt is handed in")
    hand.sees(f"The same score as entry {index}.")  # the page looks itself
    for width in (1440, 390):
        hand.tab.resize(width)
        assert hand.tab.ask("document.documentElement.scrollWidth") <= width
    assert hand.tab.errors == []


def test_withdrawing_picking_and_the_end_of_the_quota(
    server: tuple[Path, Server], only_tab: Page, tmp_path: Path
) -> None:
    """A question with the consequences; a third pick; no button without a quota; no form in a closed phase."""
    hand = Hand(only_tab, server, "elder", scripts=True)
    chosen = files(tmp_path, 5)
    hand.open("past")
    hand.sees("Closed on ")
    assert hand.tab.ask("document.querySelector('input[type=file]')") is None
    assert "not limited" not in hand.tab.ask("document.body.innerText")
    hand.open()
    entries = [hand.hand_in(file) for file in chosen[:3]]
    until(hand.tab, "document.querySelectorAll('.pick input').length === 3")  # the page looks itself
    for index in entries[:2]:
        hand.click(f"#entry-{index} .pick input")
        until(hand.tab, f"document.querySelector('#entry-{index} .pick').innerText.includes('picked')")
    hand.click(f"#entry-{entries[2]} .pick input")
    hand.sees("Untick one first")
    assert hand.tab.ask("document.querySelectorAll('.pick input:checked').length") == 2

    hand.click(f"#entry-{entries[0]} .withdraw a")
    hand.sees("Its place in the quota is not returned. Its pick becomes free.")
    hand.click(".said a", "Keep it")
    until(hand.tab, "document.querySelector('.said') === null")
    hand.click(f"#entry-{entries[0]} .withdraw a")
    hand.click(".said button", "Withdraw entry")
    until(hand.tab, f"document.querySelector('#entry-{entries[0]} .state').innerText.includes('Withdrawn')")
    assert hand.tab.ask("document.querySelectorAll('.pick input:checked').length") == 1

    hand.hand_in(chosen[3])
    hand.check(chosen[4])
    hand.sees(f"All 4 entries of today are used; next at {(HOUR + 12) % 24:02d}:00 UTC.")
    assert hand.button() == ""


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_page_requires_metadata_and_says_that_scoring_is_paused(
    only_tab: Page, tmp_path: Path, scripts: bool
) -> None:
    """A wrong value has the focus; the loop has ended; and then the session ends while the page looks."""
    folder = tmp_path / "live"
    toml = Live.graded(folder, rules=RULES, phases=PHASE).folder / "challenge.toml"
    toml.write_text(f"{toml.read_text()}{FIELDS}")
    assert here("run", folder).code == 0
    later = datetime.now(UTC) + timedelta(seconds=5)
    with Store.open(read_challenge(folder).database_address, clock=lambda: later - timedelta(hours=1)) as store:
        store.note_run("main")
        store.note_run(ALIVE)
    with serving(folder, "--no-runner") as service:
        hand = Hand(only_tab, (folder, service), "gorse", scripts=scripts)
        hand.sees("Scoring is paused since ")
        hand.check(*files(tmp_path, 1))
        hand.click(".hand-in button", "Hand in list-0.txt")
        assert (
            hand.tab.ask("document.querySelector('.hand-in input:invalid').id") == "meta-system"
        )  # the browser says so
        for value in ("x", "3"):
            fill = f"for (const [name, value] of [['system', 'a'], ['seconds', '{value}']])"
            hand.tab.ask(f"{fill} document.getElementById(`meta-${{name}}`).value = value")
            hand.click(".hand-in button", "Hand in list-0.txt")
            if value == "x":
                until(hand.tab, "document.querySelector('[aria-invalid]') !== null")
                until(hand.tab, "document.activeElement.id === 'meta-seconds'")
                if scripts:
                    is_accessible(hand.tab)
                assert hand.tab.ask("document.getElementById('meta-system').value") == "a"
        hand.sees("list-0.txt is handed in")
        hand.sees("Files are received, and are scored when it goes on.")
        if scripts:
            hand.tab.send("Storage.clearCookies")
            hand.sees("You are not signed in any more.")


def test_an_upload_over_a_slow_line_is_shown_and_can_be_cancelled(
    server: tuple[Path, Server], only_tab: Page, tmp_path: Path
) -> None:
    """The button of the file before is gone at once. Without JavaScript, the browser shows the upload."""
    hand = Hand(only_tab, server, "fern", scripts=True)
    (small,) = files(tmp_path, 1)
    large = tmp_path / "large.txt"
    large.write_bytes(b"# nothing\n" * 200_000)
    hand.open()
    hand.check(small)
    hand.sees("Hand in list-0.txt to Main")
    hand.tab.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1}
    hand.tab.send("Network.emulateNetworkConditions", **slow, uploadThroughput=300_000)
    hand.check(large)
    hand.sees("large.txt, ")
    assert hand.button() == ""
    assert "list-0.txt" not in hand.tab.ask("document.getElementById('main').innerText")
    until(hand.tab, "document.querySelector('progress').value > 0")
    hand.click(".sending button", "Cancel")
    until(hand.tab, "document.querySelector('.sending').hidden && !document.querySelector('form.check').hidden")
    hand.tab.send("Network.emulateNetworkConditions", **slow, uploadThroughput=-1)
    hand.check(small)
    hand.sees("Hand in list-0.txt to Main")
    assert hand.tab.errors == []


@pytest.mark.skipif(not has_axe(), reason="the group `browser` is not installed")
def test_the_page_is_accessible(server: tuple[Path, Server], only_tab: Page, tmp_path: Path) -> None:
    """Signed out and signed in, with a valid and an invalid file and a question, narrow and wide, light and dark."""
    tab, (folder, service) = only_tab, server
    with opened(folder) as store:
        token = issue(store, "cedar", "token", "laptop")
    tab.send("Storage.clearCookies")
    tab.open(f"{service.address}/submit")
    assert violations(tab) == []
    tab.ask(f"document.getElementById('key').value = '{token}'")
    click(tab, "button")
    until(tab, "document.body.innerText.includes('signed in as')")
    valid, invalid, worse = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"
    valid.write_text(GOOD)
    worse.write_text("q1:x\n")
    invalid.write_text("q1:a,,b\n")
    tab.open(f"{service.address}/submit")
    choose(tab, valid)
    click(tab, ".hand-in button")
    until(tab, "document.querySelector('#entries .pick input') !== null")
    choose(tab, worse)
    click(tab, ".hand-in button")
    until(tab, "document.querySelectorAll('#entries .pick input').length === 2")
    click(tab, "#entries .pick input")
    until(tab, "document.body.innerText.includes('Only picked entries count then')")
    is_accessible(tab)
    tab.open(f"{service.address}/submit")
    choose(tab, invalid)
    until(tab, "document.body.innerText.includes('A file with errors cannot be handed in here')")
    checked = tab.ask("location.href")
    for width, dark in ((1440, False), (390, False), (1024, True)):
        tab.open(checked, width=width, dark=dark)
        assert violations(tab) == []
        assert tab.ask("document.documentElement.scrollWidth") <= width
