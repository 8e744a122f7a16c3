"""The page for handing in: what its forms do, and what they refuse."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import parse_qsl, urlsplit

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from scorer.board.build import are_clear
from scorer.board.site import templates
from scorer.board.site.templates import CompiledTemplates
from scorer.organising.teams import issue
from scorer.organising.watch import ALIVE, PAUSED_AFTER
from scorer.service import documents, submitting
from scorer.service.accepting import HELD_AT_MOST
from scorer.service.app import application
from scorer.service.documents import Checks, last_file
from scorer.service.state import COOKIE, LASTS
from scorer.wording import iso_time
from tests.commands import here
from tests.live_challenges import GOOD, OTHER, POOR, Live, day
from tests.served import Served, checked_at_once, served

SHORT = "q1:a\nq2:d\nq3:f\n"
"""Without a list for the last query."""

HERE = "https://challenge.example"

SAME_ORIGIN = {"Origin": HERE, "Sec-Fetch-Site": "same-origin"}


class Visitor:
    """A browser without a script, at the page of a service."""

    def __init__(self, challenge: Served, team: str = "amber", *, signs_in: bool = True) -> None:
        self.challenge = challenge
        self.team = team
        self.address: dict[str, str] = {}
        """Of the page: what follows the question mark."""
        self.client = TestClient(application(challenge.service), base_url=HERE, raise_server_exceptions=False)
        if signs_in:
            assert self.post(action="sign-in", key=issue(challenge.store, team, "token", "laptop")).status_code == 303

    def post(self, headers: Mapping[str, str] = SAME_ORIGIN, /, **fields: str | Sequence[str]) -> Response:
        return self._followed(self.client.post("/submit", data=fields, headers=headers, follow_redirects=False))

    def _followed(self, answer: Response) -> Response:
        """The answer, whose page is the one that is open from now on."""
        if answer.status_code == 303:
            self.address = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
        return answer

    def choose(self, content: str | bytes, name: str = "lists.txt", track: str = "main") -> Response:
        here = self.address if self.address.get("track") == track else {}
        answer = self.client.post(
            "/submit",
            params={**here, "track": track},
            files={"file": (name, content)},
            headers=SAME_ORIGIN,
            follow_redirects=False,
        )
        return self._followed(answer)

    def page(self, track: str = "main", **state: str) -> str:
        here = self.address if self.address.get("track") == track else {}
        answer = self.client.get("/submit", params={**here, "track": track, **state})
        assert answer.status_code == 200, answer.text
        return answer.text

    def hand_in(self, content: str, name: str = "lists.txt") -> Response:
        assert self.choose(content, name).status_code == 303
        return self.post(action="hand-in", **self.held())

    def held(self) -> dict[str, str]:
        """The fields of the form with the checked file."""
        form = self.page().partition('class="hand-in" method')[2]
        found = re.search(r'name="track" value="([^"]+)"><input type="hidden" name="file" value="([^"]+)"', form)
        assert found is not None
        return {"track": found[1], "file": found[2]}

    def button(self) -> str:
        """What the button says that hands in the checked file; empty without one."""
        found = re.search(r'<button class="button" name="action" value="hand-in">(.*?)</button>', self.page())
        return re.sub(r"<[^>]+>", "", found[1]) if found else ""

    def is_signed_in(self) -> bool:
        """Whether the page is that of a team."""
        return "You are signed in as" in self.client.get("/submit").text


@pytest.fixture(autouse=True)
def checks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A check takes a second, so only the tests of what it finds start its process."""
    if "real_check" not in request.fixturenames:
        monkeypatch.setattr(Checks, "of", checked_at_once)


def publish_queries(live: Live, queries: str = "q1\nq2\nq3\nq4\n") -> None:
    """Publish these queries of the track."""
    if not (live.folder / "queries.txt").exists():
        live.edit("list_length = 3\n", 'list_length = 3\nqueries = "queries.txt"\n')
    (live.folder / "queries.txt").write_text(queries)


@pytest.fixture
def real_check() -> None:
    """Checks start `scorer check`."""


@pytest.fixture
def challenge(tmp_path: Path) -> Iterator[Served]:
    """The challenge of `Live.graded`, in its first phase."""
    with served(Live.graded(tmp_path / "live", rules='entry = "picks"\n')) as found:
        yield found


@pytest.fixture
def visitor(challenge: Served) -> Visitor:
    """A visitor who is signed in as amber."""
    return Visitor(challenge)


def is_untouched(challenge: Served) -> bool:
    """Whether nothing was accepted, and no upload is left."""
    return not any(".incoming" in file for file in challenge.files()) and not challenge.service.followed.deliveries


class TestSessions:
    """Who is signed in."""

    def test_the_cookie_is_for_this_host_and_not_for_scripts(self, challenge: Served) -> None:
        visitor = Visitor(challenge, signs_in=False)
        token = issue(challenge.store, "amber", "token")
        answer = visitor.post(action="sign-in", key=token)
        name, *attributes = answer.headers["set-cookie"].split("; ")
        assert name.startswith(f"{COOKIE}=")
        assert set(attributes) == {"HttpOnly", "Max-Age=86400", "Path=/", "SameSite=strict", "Secure"}
        assert token not in answer.headers["set-cookie"] + answer.headers["location"]
        assert visitor.is_signed_in()

    def test_the_page_has_one_style_of_dates_and_the_rule_of_rows(self, tmp_path: Path) -> None:
        """Where entries are rows, none counts for its team; zones are offsets as people write them."""
        rules = 'rows = "entry"\nquota = {per_day = 5, zone = "AoE"}\n'
        with served(Live.graded(tmp_path / "rows", rules=rules)) as found:
            visitor = Visitor(found)
            assert "<b>Table" not in visitor.page()  # there is no entry yet
            found.put("amber", GOOD)
            page = visitor.page()
            assert "<b>Table 1.</b> <i>Your only entry" in page
            assert "Each entry is a row" in page
            assert "the one with the best" not in page
            times = re.findall(r"<time[^>]*>([^<]*)</time>", page)
            assert len(times) >= 3
            assert all(re.fullmatch(r"\d{1,2} January 2027, \d\d:\d\d UTC", time) for time in times)

    def test_the_page_of_a_track_with_a_late_board_takes_late_files(self, tmp_path: Path) -> None:
        """And says what becomes of them."""
        with served(Live.graded(tmp_path / "late", rules="late_board = true\n")) as found:
            found.now = day(31)
            visitor = Visitor(found)
            assert "A file is late now: it is scored, is listed on the" in visitor.page()
            assert visitor.hand_in(GOOD, "first.txt").status_code == 303
            page = visitor.page()
            assert "first.txt</bdi> is handed in to Main" in page
            assert 'value="hand-in"' not in page

    def test_a_team_sees_its_pseudonym_until_names_are_shown(self, tmp_path: Path) -> None:
        """Next to its own name."""
        live = Live.graded(tmp_path / "hidden")
        live.edit('name = "Live"\n', 'name = "Live"\n[visibility]\nnames = "final"\n')
        with served(live) as found:
            page = Visitor(found).page()
            assert "You are signed in as <b><bdi>amber</bdi></b>." in page
            assert re.search(r"Others see you as <b>team [0-9a-f]{6}</b> until the final scores are shown\.", page)
            found.now = day(31)
            assert "Others see you" not in Visitor(found).page()

    def test_an_invitation_gives_a_session_and_its_token_once(self, challenge: Served) -> None:
        visitor, invitation = Visitor(challenge, signs_in=False), issue(challenge.store, "<b>amber<b>", "invitation")
        form = visitor.client.get("/invite")
        assert 'method="post"' in form.text
        assert 'type="text" required autocomplete="off"' in form.text
        assert "script-src 'self'" in form.headers["content-security-policy"]
        answer = visitor.post(action="sign-in", key=invitation)
        assert (answer.status_code, visitor.address) == (303, {"show": "token"})
        for _ in range(2):
            (token,) = set(re.findall(r"scorer_[\w-]+", visitor.page(show="token")))
        assert token not in visitor.page()
        assert "Show the new token" in visitor.page()
        assert "&lt;b&gt;amber" in visitor.page()
        assert visitor.client.get("/submit").headers["cache-control"] == "no-store"
        assert visitor.client.get("/submit/token").text == f"{token}\n"
        assert visitor.is_signed_in()
        other = Visitor(challenge, signs_in=False)
        refused = other.post(action="sign-in", key=invitation)
        assert refused.status_code == 401
        assert "was used, has expired or was revoked" in refused.text
        assert not other.is_signed_in()
        assert other.post(action="sign-in", key=token).status_code == 303
        assert token not in other.page(show="token")
        assert other.client.get("/submit/token").status_code == 404
        files = [path for path in challenge.live.folder.rglob("*") if path.is_file()]
        assert not [path for path in files if token.encode() in path.read_bytes()]

    def test_no_other_key_signs_in(self, challenge: Served) -> None:
        visitor = Visitor(challenge, signs_in=False)
        for key in ("", "scorer_x", "invite_x", "<b>", "x" * 10_000, "\N{SNOWMAN}", "a&b=c"):
            answer = visitor.post(action="sign-in", key=key)
            assert answer.status_code in (400, 401)
            assert "set-cookie" not in answer.headers
            assert "<b>" not in answer.text.partition("<main")[2].replace("<b><bdi>", "")

    def test_who_signs_in_again_has_the_track_and_the_file(self, challenge: Served, visitor: Visitor) -> None:
        """Also after a button that an ended session has pressed."""
        challenge.now += LASTS - timedelta(minutes=1)
        token = issue(challenge.store, "amber", "token")
        visitor.post(action="sign-in", key=token)
        challenge.now += LASTS - timedelta(minutes=1)
        visitor.choose(GOOD, "first.txt")
        held = visitor.held()
        challenge.now += timedelta(minutes=1)
        for page in (visitor.client.get("/submit", params=held), visitor.post(action="hand-in", **held)):
            assert all(
                f'<input type="hidden" name="{name}" value="{value}">' in page.text for name, value in held.items()
            )
        assert visitor.post(action="sign-in", key=token, **held).status_code == 303
        assert visitor.address == held
        assert "first.txt" in visitor.button()

    def test_a_session_ends_with_its_token(self, challenge: Served, visitor: Visitor) -> None:
        assert visitor.is_signed_in()
        names = re.findall(
            r"^(\w{12})\s", here("teams", "tokens", "--challenge", challenge.live.folder).out, re.MULTILINE
        )
        for name in names:
            here("teams", "revoke", name, "--challenge", challenge.live.folder)
        assert not visitor.is_signed_in()
        assert visitor.choose(GOOD).status_code == 401
        assert is_untouched(challenge)

    def test_a_copy_of_the_cookie_is_worth_nothing_after_signing_out(self, challenge: Served, visitor: Visitor) -> None:
        copy = visitor.client.cookies[COOKIE]
        assert visitor.post(action="sign-out").status_code == 303
        assert not visitor.is_signed_in()
        thief = Visitor(challenge, signs_in=False)
        thief.client.cookies.set(COOKIE, copy)
        assert not thief.is_signed_in()
        assert thief.choose(GOOD).status_code == 401

    def test_a_forged_cookie_is_no_session(self, challenge: Served, visitor: Visitor, tmp_path: Path) -> None:
        """Nor is that of another challenge."""
        with served(Live.graded(tmp_path / "other")) as other:
            copy = Visitor(other).client.cookies[COOKIE]
        text = visitor.client.cookies[COOKIE]
        digest = hashlib.sha256(text.encode()).hexdigest()
        for forged in ("", text[:-1], f"{text}x", text.swapcase(), text[::-1], digest, f"{text}.9999999999", copy):
            forger = Visitor(challenge, signs_in=False)
            forger.client.cookies.set(COOKIE, forged)
            assert not forger.is_signed_in()
            assert forger.choose(GOOD).status_code == 401
        assert is_untouched(challenge)

    def test_a_link_from_another_site_leads_to_the_session(self, visitor: Visitor) -> None:
        """The browser keeps the cookie back at first, so the page loads itself again."""
        cookies, visitor.client.cookies = visitor.client.cookies, type(visitor.client.cookies)()
        assert 'http-equiv="refresh"' in visitor.client.get("/submit", headers={"Sec-Fetch-Site": "cross-site"}).text
        assert 'http-equiv="refresh"' not in visitor.client.get("/submit").text
        visitor.client.cookies = cookies
        assert visitor.is_signed_in()


CROSS_SITE: Mapping[str, Mapping[str, str]] = {
    "no origin": {"Sec-Fetch-Site": "same-origin"},
    "no headers": {},
    "an opaque origin": {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
    "another site": {"Origin": "https://attacker.example", "Sec-Fetch-Site": "cross-site"},
    "another site, old browser": {"Origin": "https://attacker.example"},
    "a sub-domain": {"Origin": "https://x.challenge.example", "Sec-Fetch-Site": "same-site"},
    "a longer name": {"Origin": "https://challenge.example.attacker.example"},
    "another port": {"Origin": "https://challenge.example:8443", "Sec-Fetch-Site": "same-site"},
    "without TLS": {"Origin": "http://challenge.example", "Sec-Fetch-Site": "cross-site"},
    "its own origin from another site": {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
    "typed": {"Origin": HERE, "Sec-Fetch-Site": "none"},
    "in capitals": {"Origin": "HTTPS://CHALLENGE.EXAMPLE"},
    "with a path": {"Origin": f"{HERE}/submit"},
}


def test_a_form_through_a_proxy_that_is_not_named_says_so(challenge: Served, caplog: pytest.LogCaptureFixture) -> None:
    """To the team and in the log; the service takes the page to be without TLS, or at another address."""
    caplog.set_level("INFO")
    client = TestClient(application(challenge.service), base_url="http://challenge.example")
    for headers in (SAME_ORIGIN, {"Origin": HERE}, {**SAME_ORIGIN, "Host": "127.0.0.1:8000"}):
        answer = client.post("/submit", data={"action": "sign-in", "key": "scorer_x"}, headers=headers)
        assert answer.status_code == 403
        for text in (answer.text, caplog.text):
            assert f"the page is at {HERE}" in text
            assert "its proxy has to be named with --proxy" in text
        caplog.clear()


class TestCrossSite:
    """Forms that a page of another site sends with the cookie of a team."""

    def test_no_form_does_anything(self, challenge: Served, visitor: Visitor) -> None:
        assert visitor.hand_in(GOOD).status_code == 303
        visitor.choose(OTHER)
        held, token = visitor.held(), issue(challenge.store, "birch", "token")
        before = challenge.store.read(lambda view: view.revision)
        entry = re.search(r'id="entry-(\d+)"', visitor.page())
        assert entry is not None
        forms: list[dict[str, str]] = [
            {"action": "hand-in", **held},
            {"action": "withdraw", "track": "main", "withdraw": entry[1]},
            {"to": "main", **held},
            {"action": "pick", "track": "main", "entry": entry[1]},
            {"action": "pick", "track": "main"},
            {"action": "sign-in", "key": token},
            {"action": "sign-out"},
        ]
        for name, headers in CROSS_SITE.items():
            for form in forms:
                answer = visitor.post(headers, **form)
                assert answer.status_code == 403, (name, form)
                assert "set-cookie" not in answer.headers
            files = {"file": ("x.txt", POOR)}
            answer = visitor.client.post("/submit?track=main", files=files, headers=headers)
            assert answer.status_code == 403, name
            assert visitor.held() == held
            assert visitor.is_signed_in()
            assert challenge.store.read(lambda view: view.revision) == before


class TestHandingIn:
    """A file from its choice to its score."""

    @pytest.mark.usefixtures("real_check")
    def test_from_a_file_to_a_score(self, challenge: Served, visitor: Visitor) -> None:
        """With what the check finds, a receipt, a rank, a pick and a withdrawal."""
        location = visitor.choose("q1:b,b\nq2:e,x\n", "long tail.txt").headers["location"]
        assert location.startswith("submit?track=main&file=")
        page = visitor.page()
        assert "The file can be scored" in page
        assert "<td>1</td><td>item &#34;b&#34; is listed twice" in page
        assert "Read: 2 lists, 4 items." in page
        assert visitor.post(action="hand-in", **visitor.held()).status_code == 303
        page = visitor.page()
        assert "data-waiting" in page
        (index,) = set(re.findall(r'id="entry-(\d+)"', page))
        (file,) = [file for file in challenge.files() if file.startswith("amber/2027")]
        assert file.endswith(f"-{int(index):06}-long-tail.txt")
        receipt = visitor.client.get(f"/submit/receipts/main/{index}")
        assert receipt.headers["content-disposition"] == f'attachment; filename="{index}-long-tail.receipt.txt"'
        assert f'"index":{index}' in receipt.text
        assert visitor.hand_in(GOOD, "b.csv").status_code == 303
        challenge.put("birch", OTHER)

        challenge.run()
        challenge.live.render(challenge.now)
        page = visitor.page()
        assert "data-waiting" not in page
        scores = re.findall(r'<td class="score">([^<]+)</td>\n<td class="rank">(\d+)', page)
        assert scores[0] == ("1.0000", "1")
        assert 0 < float(scores[1][0]) < 1
        assert scores[1][1] == "2"
        assert page.count('<b class="counts">Counts</b>') == 1
        assert page.index("Counts</b>") < page.index(f'id="entry-{index}"')

        assert visitor.post(action="pick", track="main", entry=index).status_code == 303
        page = visitor.page()  # which asks first: the entry that counts is better
        assert (page.count(" checked> picked"), f"Pick entry {index}?" in page) == (0, True)
        assert re.search(r"Entry \d+ counts now, and has a better score: preliminary nDCG@3 1\.0000\.", page)
        assert visitor.post(action="pick", track="main", entry=index, sure="yes").status_code == 303
        page = visitor.page()
        assert page.count(" checked> picked") == 1
        assert page.index("Counts</b>") > page.index(f'id="entry-{index}"')
        assert visitor.post(action="withdraw", track="main", withdraw=index).status_code == 303
        page = visitor.page()
        assert "Withdrawn" in page
        assert " checked> picked" not in page
        assert not [name for name in challenge.files() if "long-tail" in name]
        packed = zipfile.ZipFile(io.BytesIO(visitor.client.get("/submit/receipts/main/all").content))
        names = [re.sub(r"^\d+-", "", name) for name in packed.namelist()]
        assert names[-2:] == ["long-tail.receipt.txt", "b.receipt.txt"]

    @pytest.mark.usefixtures("real_check")
    def test_a_file_with_errors_is_explained_and_not_accepted(self, challenge: Served, visitor: Visitor) -> None:
        visitor.choose("q1:a,,b\nq2\n", "bad.txt")
        page = visitor.page()
        assert "The file would be rejected." in page
        assert '<td>2</td><td class="warning">' in page
        assert visitor.button() == ""
        answer = visitor.post(action="hand-in", track="main", file=visitor.address["file"])
        assert answer.status_code == 400
        assert "The file would be rejected." in answer.text
        assert not challenge.service.followed.deliveries

    @pytest.mark.usefixtures("real_check")
    def test_a_file_is_checked_with_the_challenge_as_it_is_now(self, challenge: Served, visitor: Visitor) -> None:
        """Not by an answer from before a correction of challenge.toml or of a list, without a restart."""
        publish_queries(challenge.live)
        visitor.choose(SHORT)
        assert "Hand in lists.txt" in visitor.button()
        challenge.live.edit("list_length = 3\n", 'list_length = 3\nmissing = "reject"\n')
        visitor.choose(SHORT)
        assert not visitor.button()
        publish_queries(challenge.live, "q1\nq2\nq3\n")
        visitor.choose(SHORT)
        assert "Hand in lists.txt" in visitor.button()

    @pytest.mark.usefixtures("real_check")
    def test_a_file_that_scores_0_for_certain_needs_a_box(self, challenge: Served, visitor: Visitor) -> None:
        challenge.live.edit("list_length = 3\n", 'list_length = 3\nitems = "items.txt"\n')
        (challenge.live.folder / "items.txt").write_text("a\nb\n")
        visitor.choose("q1:x\nq2:y\n")
        form = visitor.page().partition('class="hand-in" method')[2]
        box, button = (form.find(text) for text in ('name="although" required> Hand in although', 'value="hand-in"'))
        assert 0 < box < button
        refused = visitor.post(action="hand-in", **visitor.held())
        assert (refused.status_code, "tick the box" in refused.text) == (400, True)
        assert visitor.post(action="hand-in", **visitor.held(), although="on").status_code == 303

    @pytest.mark.usefixtures("real_check")
    def test_the_lists_of_the_last_entry_are_counted(self, challenge: Served, visitor: Visitor) -> None:
        """In the first sentence; if all are the same, the button is plain, and comes after a box. Once the bytes of the
        last entry are others, nothing is said.
        """
        challenge.put("birch", GOOD)
        visitor.hand_in(GOOD)
        visitor.choose(GOOD.replace("q4:a\n", "q4:b\n"))
        assert "<b>3 of its 4 lists are those of your last entry.</b> The file can be scored" in visitor.page()
        assert 'class="button" name="action" value="hand-in"' in visitor.page()
        same = "".join(reversed(GOOD.splitlines(keepends=True)))
        visitor.choose(same)
        text = "all of its 4 lists are those of your last entry"
        assert f'name="although" required> Hand in although {text}' in visitor.page()
        assert 'class="link" name="action" value="hand-in"' in visitor.page()
        assert visitor.post(action="hand-in", **visitor.held()).status_code == 400
        delivery = visitor.held()["file"]
        assert visitor.post(action="hand-in", **visitor.held(), although="on").status_code == 303
        challenge.entry("amber", delivery)
        assert text in challenge.entry("amber", delivery)["check"]["messages"]
        last = last_file(challenge.service.followed, challenge.live.track, "amber")
        assert last is not None
        last[0].path.write_text("q1:a\n")
        visitor.choose(GOOD.replace("q4:a\n", "q4:c\n"))
        assert "your last entry" not in visitor.page()

    def test_the_same_bytes_again_need_a_box(self, challenge: Served, visitor: Visitor) -> None:
        """Of the own team, in the same phase, unless they were withdrawn."""
        challenge.put("birch", GOOD)
        visitor.hand_in(GOOD, "first.txt")
        index = visitor.address["entry"]
        visitor.choose(GOOD, "second.txt")
        assert f"Hand in again: entry {index}, <bdi>first.txt</bdi>, has the same bytes" in visitor.page()
        assert f"<b>Entry {index} has the same bytes.</b> The file can be scored." in visitor.page()
        assert 'class="link" name="action" value="hand-in"' in visitor.page()
        refused = visitor.post(action="hand-in", **visitor.held())
        assert (refused.status_code, f"Entry {index} has the same bytes" in refused.text) == (400, True)
        held = visitor.held()
        visitor.post(action="withdraw", track="main", withdraw=index)
        assert visitor.post(action="hand-in", **held).status_code == 303
        visitor.choose(GOOD)
        assert visitor.post(action="hand-in", **visitor.held(), again="on").status_code == 303
        challenge.now = day(26)
        visitor = Visitor(challenge)
        assert visitor.hand_in(GOOD).status_code == 303
        assert len(challenge.service.followed.deliveries) == 5

    def test_a_result_arrives_on_the_page(
        self, challenge: Served, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The page looks until the board has the score; the receipt is in words."""
        visitor.hand_in(GOOD, "first.txt")
        page = visitor.page()
        digest = hashlib.sha256(GOOD.encode()).hexdigest()
        for text in ("It waits to be scored", "<dd><bdi>amber</bdi></dd>", "<dd>Main</dd>", f"<code>{digest}</code>"):
            assert text in page
        challenge.run()
        page = visitor.page()
        assert 'data-waiting="board"' in page
        assert "Preliminary nDCG@3: <b>1.0000</b>. It counts. The board follows in a moment." in page
        challenge.live.render(challenge.now)
        page = visitor.page()
        assert "data-waiting" not in page
        assert re.search(r"<b>1\.0000</b>, rank 1[^.]*\. It counts\.</p>", page)
        assert '<a href="verification.html#receipts">how to verify it</a>' in page
        first = visitor.address["entry"]
        assert "against" in challenge.entry("amber", first)
        visitor.hand_in(POOR, "second.txt")
        challenge.run()
        calls = Mock(wraps=are_clear)
        monkeypatch.setattr(documents, "are_clear", calls)
        against = challenge.entry("amber", visitor.address["entry"])["against"]
        assert challenge.entry("amber", visitor.address["entry"])["against"] == against
        assert calls.call_count == 1  # a page asks again and again
        text = f"Worse than entry {first}: too close to call (\N{MINUS SIGN}{-against['difference']:.4f})."
        assert against == {"entry": int(first), "difference": against["difference"], "clear": False, "text": text}
        assert f" {text} It does not count; the rank is as if it did.</p>" in visitor.page()

    def test_the_page_needs_no_page_of_the_site(self, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
        """The service renders no site, whose templates have more filters; what is compiled here hides that."""
        monkeypatch.setattr(templates, "COMPILED", {is_own: CompiledTemplates() for is_own in (False, True)})
        visitor.choose(GOOD)
        assert visitor.button()
        assert "Sign in" in Visitor(visitor.challenge, signs_in=False).client.get("/submit").text

    @pytest.mark.usefixtures("real_check")
    def test_the_findings_are_counted_and_for_participants(self, challenge: Served, visitor: Visitor) -> None:
        """Those that are not listed, too; nothing that only the organiser can do."""
        publish_queries(challenge.live)
        visitor.choose(GOOD + "".join(f"u{number}:a\n" for number in range(45)))
        page = visitor.page()
        (said,) = set(re.findall(r"The file can be scored[^<]*", page))
        assert said == "The file can be scored; 46 things in it may be mistakes."
        assert page.count("is unknown; its list is ignored") == 18
        assert "<td>and 27 more</td>" in page
        assert "Without a header, read as query:items, between commas" in page
        visitor.choose("# \n\n<x>,1\n", "odd.txt")
        page = visitor.page()
        assert "The file would be rejected." in page
        assert "the closest layouts are" in page
        assert "--submission-format" not in page
        assert "challenge.toml" not in page

    @pytest.mark.usefixtures("real_check")
    def test_the_check_shows_nothing_of_a_solution_whose_queries_are_hidden(
        self, challenge: Served, visitor: Visitor
    ) -> None:
        """Which queries it has, and how many of those in the file: the same page for any ids."""
        pages = []
        challenge.live.edit("list_length = 3\n", 'list_length = 3\nmissing = "reject"\n')
        for names in ("q1 q2 q3", "u1 u2 u3"):
            visitor.choose("".join(f"{name}:a,b\n" for name in names.split()))
            found = re.search('<section class="found".*?</section>', visitor.page(), re.DOTALL)
            pages.append("" if found is None else re.sub("[qu]([123])", r"\1", found[0]))
        assert pages[0] == pages[1]
        assert "Read: 3 lists, 6 items." in pages[0]

    def test_scoring_is_paused_when_the_loop_has_ended(self, challenge: Served, visitor: Visitor) -> None:
        """By its last sign of life; not where there never was a loop, or runs go on without one."""
        visitor.hand_in(GOOD)
        assert "Scoring is paused" not in visitor.page()
        challenge.store.note_run(ALIVE)
        stopped = challenge.now
        challenge.now += PAUSED_AFTER / 2
        assert "Scoring is paused" not in visitor.page()
        challenge.now += PAUSED_AFTER
        assert f'Scoring is paused since <time datetime="{iso_time(stopped)}">' in visitor.page()
        challenge.run()
        assert "Scoring is paused" not in visitor.page()

    def test_a_button_that_is_pressed_twice_gives_one_entry(self, challenge: Served, visitor: Visitor) -> None:
        visitor.choose(GOOD)
        held = visitor.held()
        assert [visitor.post(action="hand-in", **held).status_code for _ in range(3)] == [303, 303, 303]
        assert len(challenge.service.followed.deliveries) == 1

    def test_another_file_takes_the_place_of_the_first(self, challenge: Served, visitor: Visitor) -> None:
        visitor.choose(GOOD)
        first = visitor.held()
        visitor.choose(OTHER)
        assert sum(".incoming" in file for file in challenge.files()) == 1
        answer = visitor.post(action="hand-in", **first)
        assert answer.status_code == 404
        assert "choose it again" in answer.text
        assert not challenge.service.followed.deliveries

    def test_a_checked_file_is_kept_for_an_hour(self, challenge: Served, visitor: Visitor) -> None:
        visitor.choose(GOOD)
        held = visitor.held()
        challenge.now += timedelta(hours=1, seconds=1)
        assert visitor.post(action="hand-in", **held).status_code == 404
        assert is_untouched(challenge)

    def test_a_closed_phase_and_a_full_quota_are_said_on_the_page(self, tmp_path: Path) -> None:
        with served(Live.graded(tmp_path / "live", rules="quota = {per_day = 1}\n")) as challenge:
            visitor = Visitor(challenge)
            assert visitor.hand_in(GOOD).status_code == 303
            visitor.choose(OTHER)
            assert visitor.button() == ""
            page = visitor.page()
            assert "<b>0 of 1</b> entries today" in page
            assert "<b>The only entry of today is used; next at 00:00 UTC.</b>" in page
            answer = visitor.post(action="hand-in", track="main", file=visitor.address["file"])
            assert answer.status_code == 429
            assert "The quota is used up" in answer.text
            challenge.now = day(22)
            visitor = Visitor(challenge)
            page = visitor.page()
            assert "Closed on " in page
            assert 'type="file"' not in page
            assert "is not limited" not in page
            assert visitor.choose(POOR).status_code == 403
            assert len(challenge.service.followed.deliveries) == 1

    def test_a_third_pick_is_refused_in_words(self, challenge: Served, visitor: Visitor) -> None:
        for mark in range(3):
            visitor.hand_in(GOOD.replace("q4:a", f"q4:a{mark}"))
        challenge.run()
        entries = re.findall(r'id="entry-(\d+)"', visitor.page())[:3]
        answer = visitor.post(action="pick", track="main", entry=entries)
        assert answer.status_code == 400
        assert "Untick one first: a team picks at most 2 entries." in answer.text
        visitor.choose(OTHER)
        assert visitor.post(action="pick", track="main", file=visitor.address["file"]).status_code == 303
        assert visitor.button()  # the checked file stays
        assert visitor.post(action="pick", track="main", entry=entries[:2]).status_code == 303
        assert visitor.page().count(" checked> picked") == 2
        assert visitor.post(action="pick", track="main").status_code == 303
        assert " checked> picked" not in visitor.page()

    def test_the_entries_of_other_teams_are_not_found(self, challenge: Served, visitor: Visitor) -> None:
        visitor.hand_in(GOOD)
        (index,) = [event.index for event in challenge.service.followed.deliveries.values()]
        other = Visitor(challenge, "birch")
        assert f'id="entry-{index}"' not in other.page()
        assert other.client.get(f"/submit/receipts/main/{index}").status_code == 404
        assert other.post(action="withdraw", track="main", withdraw=str(index)).status_code == 404
        assert f'name="withdraw" value="{index}"' not in other.page(withdraw=str(index))
        assert other.post(action="pick", track="main", entry=str(index)).status_code == 404
        assert Visitor(challenge, signs_in=False).client.get(f"/submit/receipts/main/{index}").status_code == 401

    def test_forms_that_are_incomplete_do_nothing(self, challenge: Served, visitor: Visitor) -> None:
        before = challenge.store.read(lambda view: view.revision)
        for action in ("", "delete", "__class__", "hand-in", "withdraw", "pick"):
            assert visitor.post(action=action, track="nowhere").status_code in (400, 404)
        assert challenge.store.read(lambda view: view.revision) == before


class TestOneFileForEachPage:
    """A checked file belongs to its page, its track and its session."""

    @pytest.fixture
    def challenge(self, tmp_path: Path) -> Iterator[Served]:
        """Two tracks, with a quota."""
        rules = "quota = {per_day = 5, rejected_per_day = 20}\n"
        live = Live.graded(tmp_path / "live", rules=rules, tracks=("main", "other"))
        with served(live) as found:
            yield found

    def test_the_button_names_the_file_the_track_and_the_cost(self, visitor: Visitor) -> None:
        visitor.choose(GOOD, "first.txt")
        assert visitor.button() == "Hand in first.txt to Main (5 of 5 left today)"
        visitor.post(action="hand-in", **visitor.held())
        visitor.choose(OTHER, "second.txt")
        assert visitor.button() == "Hand in second.txt to Main (4 of 5 left today)"

    def test_a_waiting_entry_does_not_make_the_counts_jump(self, challenge: Served, visitor: Visitor) -> None:
        said = []
        for step in range(3):
            if step == 1:
                visitor.hand_in(GOOD)
            if step == 2:
                challenge.run()
            said.append(re.findall(r"<b>(\d+) of \d+</b>", visitor.page()))
        assert said == [["5", "20"], ["4", "20"], ["4", "20"]]

    def test_another_track_shows_the_file_once_it_is_checked_for_it(self, challenge: Served, visitor: Visitor) -> None:
        visitor.choose(GOOD, "first.txt")
        first = visitor.held()
        page = visitor.page("other", file=first["file"])
        assert "first.txt" not in page
        assert 'value="hand-in"' not in page
        assert visitor.post(action="hand-in", track="other", file=first["file"]).status_code == 404
        assert visitor.post(action="check", to="other", **first).status_code == 303
        assert visitor.address["track"] == "other"
        page = visitor.page("other")
        assert "Hand in <bdi>first.txt</bdi> to Other" in page
        assert visitor.post(action="hand-in", **first).status_code == 404
        file = visitor.address["file"]
        assert visitor.post(action="hand-in", track="other", file=file).status_code == 303
        ((track, _, _),) = challenge.service.followed.deliveries
        assert track == "other"

    def test_two_tabs_have_each_their_file(self, challenge: Served, visitor: Visitor) -> None:
        tab = Visitor(challenge, signs_in=False)
        tab.client.cookies = visitor.client.cookies
        visitor.choose(GOOD, "first.txt")
        tab.choose(OTHER, "second.txt")
        assert "first.txt" in visitor.button()
        assert "second.txt" in tab.button()
        for each in (visitor, tab):
            assert each.post(action="hand-in", **each.held()).status_code == 303
        names = sorted(name.partition("-")[2] for name in challenge.files() if name.startswith("amber/2027"))
        assert [re.sub(r"^\d+-", "", name) for name in names] == ["first.txt", "second.txt"]

    def test_a_teammate_does_not_see_it(self, challenge: Served, visitor: Visitor) -> None:
        mate = Visitor(challenge)
        visitor.choose(GOOD, "first.txt")
        assert "first.txt" not in mate.page(file=visitor.address["file"])
        assert mate.post(action="hand-in", **visitor.held()).status_code == 404
        assert visitor.button()

    def test_an_empty_file_leaves_none(self, challenge: Served, visitor: Visitor) -> None:
        visitor.choose(GOOD, "first.txt")
        answer = visitor.choose("", "empty.txt")
        assert answer.status_code == 400
        assert "The file &#34;empty.txt&#34; is empty; choose a file" in answer.text
        assert "first.txt" not in answer.text
        assert "first.txt" not in visitor.page()
        assert is_untouched(challenge)

    def test_a_token_keeps_few(self, challenge: Served, visitor: Visitor) -> None:
        for mark in range(HELD_AT_MOST + 2):
            visitor.address = {}
            visitor.choose(GOOD.replace("q4:a", f"q4:a{mark}"))
        assert sum(".incoming" in file for file in challenge.files()) == HELD_AT_MOST
        assert visitor.button()


class TestWithdrawing:
    """A question before an entry is withdrawn."""

    def test_the_question_says_the_consequences(self, tmp_path: Path) -> None:
        with served(Live.graded(tmp_path / "live", rules='entry = "picks"\nquota = {per_day = 5}\n')) as challenge:
            visitor = Visitor(challenge)
            visitor.hand_in(GOOD)
            index = visitor.address["entry"]
            asked = visitor.page(withdraw=index)
            assert f"Withdraw entry {index}, <bdi>lists.txt</bdi>?" in asked
            assert "takes no place in the quota" in asked
            challenge.run()
            visitor.post(action="pick", track="main", entry=index)
            asked = visitor.page(withdraw=index)
            assert "Its place in the quota is not returned. Its pick becomes free." in asked
            assert "It is the entry that counts now" in asked
            assert "Withdrawn" not in visitor.page()
            assert visitor.post(action="withdraw", track="main", withdraw=index).status_code == 303
            page = visitor.page()
            assert "Withdrawn" in page
            assert "<b>4 of 5</b> entries today" in page
            assert f'name="withdraw" value="{index}"' not in visitor.page(withdraw=index)
            assert challenge.get("amber", "/picks").json() == {"entries": []}


class TestHidden:
    """What the page must not show."""

    def test_no_score_where_the_phase_shows_nothing(self, tmp_path: Path) -> None:
        live = Live.graded(tmp_path / "live")
        live.edit('grace = "1h"\n', 'grace = "1h"\nshows = "nothing"\n')
        with served(live) as challenge:
            visitor = Visitor(challenge)
            visitor.hand_in(GOOD)
            challenge.run()
            page = visitor.page()
            assert '<td class="score">' not in page
            assert '<td class="rank">' not in page
            assert "1.0000" not in page
            assert "Counts</b>" not in page
            entry = challenge.entry("amber", visitor.address["entry"])
            assert (entry["outcome"], entry["scores"]) == ("scored", {})
            visitor.hand_in(POOR)
            challenge.run()
            assert challenge.entry("amber", visitor.address["entry"])["against"] is None

    def test_an_entry_since_a_freeze_has_no_score_and_does_not_show_that_it_counts(self, challenge: Served) -> None:
        visitor = Visitor(challenge)
        visitor.hand_in(POOR)
        challenge.run()
        challenge.live.render(challenge.now)
        challenge.now = day(19) + timedelta(hours=2)
        visitor = Visitor(challenge)
        visitor.hand_in(GOOD)
        challenge.run()
        latest, earlier = visitor.page().split("<tbody>")[-1].split('<tr id="entry-')[1:3]
        assert '<td class="score">–</td>' in latest
        assert "Counts" not in latest
        assert "Counts" in earlier
        first, second = (event.index for event in challenge.live.events("arrival"))
        shown = [challenge.entry("amber", index)["scores"] for index in (first, second)]
        assert [bool(scores) for scores in shown] == [True, False]
        assert challenge.entry("amber", second)["against"] is None
        challenge.now = day(20, 2)
        assert challenge.entry("amber", second)["scores"]
        assert challenge.entry("amber", second)["against"]["text"].startswith(f"Better than entry {first}: ")

    def test_no_token_is_in_the_page_or_the_log(
        self, challenge: Served, visitor: Visitor, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("DEBUG")
        token = issue(challenge.store, "birch", "token")
        visitor.post(action="sign-in", key=token)
        visitor.post(action="sign-in", key=token + "x")
        visitor.hand_in(GOOD)
        assert token not in visitor.page() + caplog.text


@pytest.mark.holds(r"From the start of the phase .*, the board lists .* ranks\. Each team sees .* where it hands in\.")
def test_a_team_sees_its_own_scores_while_the_board_shows_none(tmp_path: Path) -> None:
    """No page of the site has one."""
    live = Live.graded(tmp_path / "live")
    live.edit('grace = "1h"\n', 'grace = "1h"\nshows = "own"\n')
    with served(live) as challenge:
        visitor = Visitor(challenge)
        visitor.hand_in(GOOD)
        challenge.put("birch", OTHER)
        challenge.run()
        challenge.live.render(challenge.now)
        page = visitor.page()
        assert '<td class="score">1.0000</td>\n<td class="rank"></td>' in page
        assert challenge.entry("amber", visitor.address["entry"])["scores"] == {"preliminary": {"nDCG@3": 1.0}}
        site = challenge.live.folder / "site"
        shown = [path.read_bytes() for path in site.rglob("*") if path.suffix in (".html", ".json", ".csv", ".xml")]
        assert len(shown) > 5
        assert not [text for text in shown if b"1.0000" in text or b": 1.0" in text]
        assert b"Each team sees its own scores where it hands in." in (site / "main" / "rules.html").read_bytes()


NAMES = [
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "C:\\Users\\a\\lists.txt",
    "/etc/passwd",
    ".hidden",
    "..",
    "...",
    "picks.toml",
    "challenge.toml",
    "a\0b.txt",
    "a\r\nSet-Cookie: x=y",
    '"><script>alert(1)</script>',
    "\u202etxt.exe",
    "\N{SNOWMAN}.txt",
    "=cmd|' /C calc'!A0",
    "-rf",
    "x" * 5000,
    "con",
    "a/b/c.txt",
    " ",
    "name;with=;semi",
    "%2e%2e%2fpasswd",
]


def test_a_file_may_have_any_name(challenge: Served) -> None:
    """It becomes a plain name in the folder of the team, and text on the page."""
    visitors = {name: Visitor(challenge, f"team-{number}") for number, name in enumerate(NAMES)}
    accepted = [visitor for name, visitor in visitors.items() if hands_in(challenge, visitor, name)]
    assert len(accepted) > len(NAMES) - 4
    challenge.run()
    assert not any("data-waiting>" in visitor.page() for visitor in accepted)


def hands_in(challenge: Served, visitor: Visitor, name: str) -> bool:
    """Whether a file with this name is accepted."""
    before, boundary = challenge.files(), "b0undary"
    quoted = name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n\r\n{GOOD}\r\n'
        f"--{boundary}--\r\n"
    ).encode()
    headers = {**SAME_ORIGIN, "Content-Type": f"multipart/form-data; boundary={boundary}"}
    answer = visitor.client.post("/submit?track=main", content=body, headers=headers, follow_redirects=False)
    if answer.status_code != 303:  # a header of a part may be too long
        assert answer.status_code == 400
        assert challenge.files() == before
        return False
    visitor.address = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
    page = visitor.page()
    assert "<script>alert" not in page
    assert "\0" not in page
    assert visitor.post(action="hand-in", **visitor.held()).status_code == 303
    (file,) = set(challenge.files()) - set(before)
    assert re.fullmatch(rf"{visitor.team}/20270111T\d{{6}}Z-\d{{6}}(-[\w.-]{{1,60}}|\.txt)", file, re.ASCII)
    return True


def part(name: str, content: str = "", file: str | None = None, *more: str) -> str:
    """A part of a form."""
    what = "" if file is None else f'; filename="{file}"'
    lines = [f'Content-Disposition: form-data; name="{name}"{what}', *more]
    return "--x\r\n" + "\r\n".join(lines) + f"\r\n\r\n{content}\r\n"


FORM = "multipart/form-data; boundary=x"

TRACK, FILE, END = part("track", "main"), part("file", GOOD, "a.txt"), "--x--\r\n"

BODIES: Mapping[str, tuple[str, str]] = {
    "nothing": (FORM, ""),
    "no boundary": ("multipart/form-data", TRACK + FILE + END),
    "an empty boundary": ('multipart/form-data; boundary=""', TRACK + FILE + END),
    "a long boundary": (f"multipart/form-data; boundary={'x' * 1000}", TRACK + FILE + END),
    "another boundary": ("multipart/form-data; boundary=y", TRACK + FILE + END),
    "another kind": ("multipart/mixed; boundary=x", TRACK + FILE + END),
    "no end": (FORM, TRACK + FILE),
    "half a file": (FORM, TRACK + FILE[: len(FILE) // 2]),
    "half a header": (FORM, TRACK + FILE[:30]),
    "no file": (FORM, TRACK + END),
    "an empty file": (FORM, TRACK + part("file", "", "a.txt") + END),
    "no choice": (FORM, TRACK + part("file", "", "") + END),
    "two files": (FORM, TRACK + FILE + FILE + END),
    "many parts": (FORM, part("a", "b") * 10_000 + TRACK + FILE + END),
    "a large field": (FORM, part("track", "m" * 1_000_000) + FILE + END),
    "a large header": (FORM, part("track", "main", None, f"X: {'x' * 100_000}") + FILE + END),
    "many headers": (FORM, part("track", "main", None, *["X: y"] * 1000) + FILE + END),
    "a header without a colon": (FORM, part("track", "main", None, "X") + FILE + END),
    "a large file": (FORM, TRACK + part("file", "#" * 1_100_000, "a.txt") + END),
    "a long end": (FORM, TRACK + FILE + END + "x" * 1_200_000),
    "a long beginning": (FORM, "x" * 1_200_000 + TRACK + FILE + END),
    "a form of another kind": ("application/x-www-form-urlencoded", "action=hand-in&file=" + "x" * 100_000),
    "no form": ("text/plain", GOOD),
}


def test_a_broken_form_leaves_nothing(tmp_path: Path) -> None:
    """Whether its length is stated or not."""
    live = Live.graded(tmp_path / "live")
    live.edit('name = "Live"\n', 'name = "Live"\nlimits = {file_mb = 1}\n')
    with served(live) as challenge:
        visitor = Visitor(challenge)
        for name, (kind, body) in BODIES.items():
            headers, whole = {**SAME_ORIGIN, "Content-Type": kind}, body.encode()
            chunks = (whole[start : start + 50_000] for start in range(0, len(whole), 50_000))
            for content in (whole, chunks):
                answer = visitor.client.post(
                    "/submit?track=main", content=content, headers=headers, follow_redirects=False
                )
                assert answer.status_code in (400, 413), (name, answer.text)
                assert 'role="alert"' in answer.text, name
                assert is_untouched(challenge), name
        assert visitor.hand_in(GOOD).status_code == 303


def test_an_endless_form_ends(challenge: Served, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit on files."""
    monkeypatch.setattr(submitting, "MB", 1000)
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        yield (TRACK + part("file", "", "a.txt")).removesuffix("\r\n").encode()
        while sent < 100_000_000:
            sent += 10_000
            yield b"#" * 10_000

    headers = {**SAME_ORIGIN, "Content-Type": FORM}
    answer = visitor.client.post("/submit?track=main", content=endless(), headers=headers, follow_redirects=False)
    assert answer.status_code == 413
    assert is_untouched(challenge)
