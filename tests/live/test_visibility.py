"""The table [visibility]: every cell, before and after its moment, in all public bytes and to the own team."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ChallengeError
from scorer.live.now import Now
from scorer.organising.commitment import commit, reveal
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge
from scorer.store.store import Store
from tests.databases import site_content
from tests.live_challenges import END, ONE, SECOND_END, SECOND_START, START, TWO, Live, lists
from tests.served import served
from tests.strategies import rest, some

HOUR = timedelta(hours=1)
MOMENTS = ("now", "close", "final", "reveal", "never")
TIMES = (START + HOUR, END + HOUR, SECOND_START + HOUR, SECOND_END + HOUR, SECOND_END + 2 * HOUR)
"""In the first phase, between the phases, in the second one, after the end, and once the commitment is revealed."""

SHOWN = {
    "now": (True, True, True, True, True),
    "close": (False, True, False, True, True),
    "final": (False, False, False, True, True),
    "reveal": (False, False, False, False, True),
    "never": (False, False, False, False, False),
}
"""What the documentation says of each moment, at each of `TIMES`."""

METADATA = '[[metadata]]\nname = "system"\ntitle = "System"\n'


@pytest.fixture(autouse=True)
def same_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """All databases have the same salt, as only what is hidden may differ."""
    monkeypatch.setattr("scorer.store.migrations.secrets.token_hex", lambda size: "5a" * size)


def live_of(folder: Path, table: str) -> Live:
    """A challenge with two phases, a public score of each query, metadata, and this table."""
    live = Live.of(folder, ONE, TWO, settings='per_query = "public"\n')
    live.edit("\n[tracks", f"\n{METADATA}[visibility]\n{table}\n[tracks")
    return live


def stages(live: Live, *, better: bool = True, system: str = "one") -> list[dict[str, bytes]]:
    """The public files at each of `TIMES`, without digests, which differ with the content of files."""
    live.run(START - HOUR)
    live.do(START - HOUR, commit)
    found = []
    live.put("amber/1.txt", lists(4 if better else 2, 4), START)
    live.put("amber/1.txt.meta.yaml", f"system: {system}\n", START)
    live.put("blue/1.txt", lists(3, 3), START)
    for at in TIMES:
        if at == TIMES[-1]:
            live.do(at, lambda challenge, store: reveal(challenge, store, challenge.tracks))
        live.run(at)
        live.render(at)
        found.append({name: masked(text) for name, text in site_content(live.folder / "site").items()})
    return found


def masked(content: bytes) -> bytes:
    """The content without digests."""
    return re.sub(rb"[0-9a-f]{8,}", b"#", content) if not content.startswith(b"\x89PNG") else content


PAST = re.compile(rb"<li>When <a [^>]*>phase one</a> closed, .*?</li>")
"""What pages say of the board of the first phase, which stays once it was shown."""


def same(one: dict[str, bytes], other: dict[str, bytes]) -> bool:
    """Whether two sites are the same, but for the log, what has signatures, and the board of the first phase."""
    left_out = ("log.jsonl", "opening", "commitment", "main/phases/")
    names = {name for name in one.keys() | other.keys() if not name.startswith(left_out)}
    return all(PAST.sub(b"", one.get(name, b"")) == PAST.sub(b"", other.get(name, b"")) for name in names)


def test_a_hidden_board_counts_no_entry_outside_of_the_log(tmp_path: Path) -> None:
    """An arrival changes the log and the page about it, and nothing else: no head, and no time of a change."""
    live = live_of(tmp_path / "c", 'board = "final"')
    live.run(START - HOUR)
    sites = []
    for number in range(2):
        live.put(f"amber/{number}.txt", lists(4, 4 - number), START + number * HOUR)
        live.run(START + number * HOUR)
        live.render(START + 2 * HOUR)
        sites.append(site_content(live.folder / "site"))
    changed = {name for name in sites[0].keys() | sites[1].keys() if sites[0].get(name) != sites[1].get(name)}
    assert changed - {".manifest.json"} == {"log.jsonl", "verification.html"}
    assert b"<subtitle>" not in sites[1]["feed.xml"]
    assert json.loads(sites[1]["main/leaderboard.json"])["log"] is None


@pytest.mark.parametrize(
    ("name", "moment"),
    some(
        product(("score", "metadata", "board"), MOMENTS), ("score", "final"), ("metadata", "reveal"), ("board", "close")
    ),
)
def test_what_is_hidden_is_in_no_public_byte_before_its_moment(name: str, moment: str, tmp_path: Path) -> None:
    """Twins that differ only in it: their sites are the same until the moment, and differ from then on."""
    differ: dict[str, dict[str, Any]] = {
        "score": {"better": False},
        "metadata": {"system": "two"},
        "board": {"better": False, "system": "two"},
    }
    twins = [
        stages(live_of(tmp_path / str(number), f'{name} = "{moment}"'), **(differ[name] if number else {}))
        for number in range(2)
    ]

    assert tuple(not same(one, other) for one, other in zip(*twins, strict=True)) == SHOWN[moment]
    rules = twins[0][0]["main/rules.html"].decode()
    assert "shown to everyone" in rules


@pytest.mark.parametrize("moment", some(MOMENTS[1:], "final"))
def test_a_hidden_board_names_no_team(moment: str, tmp_path: Path) -> None:
    """In no file, and no file is named after one; the names of files neither."""
    for shown, site in zip(SHOWN[moment], stages(live_of(tmp_path / "c", f'board = "{moment}"')), strict=True):
        texts = [name.encode() + text for name, text in site.items() if not name.startswith("main/phases/")]
        assert any(b"amber" in text for text in texts) == shown
        assert any(b"blue" in text for text in texts) == shown


@pytest.mark.parametrize("moment", some(MOMENTS, "close"))
def test_scores_of_queries_are_shown_from_their_moment(moment: str, tmp_path: Path) -> None:
    """The page of a team lists its queries; no other page has one before."""
    for shown, site in zip(SHOWN[moment], stages(live_of(tmp_path / "c", f'per_query = "{moment}"')), strict=True):
        assert (b">q1<" in site["teams/amber.html"]) == shown
        assert any(b">q1<" in text for text in site.values()) == shown


@pytest.mark.parametrize(
    ("table", "scores", "ranks"),
    [
        ('board = "final"\nrank = "now"', SHOWN["now"], SHOWN["now"]),
        ('score = "final"', SHOWN["final"], SHOWN["final"]),
        ('score = {team = "close", everyone = "final"}', (False, True, True, True, True), SHOWN["final"]),
        (
            'score = {team = "now", everyone = "never"}\nrank = {team = "final", everyone = "never"}',
            SHOWN["now"],
            SHOWN["final"],
        ),
        *rest(
            [
                ('score = "now"', SHOWN["now"], SHOWN["now"]),
                ('board = "final"', SHOWN["now"], SHOWN["final"]),
                ('score = {team = "now", everyone = "never"}', SHOWN["now"], SHOWN["never"]),
                ('score = "reveal"', SHOWN["reveal"], SHOWN["reveal"]),
                ('score = "never"', SHOWN["never"], SHOWN["never"]),
            ]
        ),
    ],
)
def test_a_team_sees_its_own(table: str, scores: tuple[bool, ...], ranks: tuple[bool, ...], tmp_path: Path) -> None:
    """On the page and over the interface, as long as the site has nothing of it."""
    live = live_of(tmp_path / "live", table)
    live.run(START - HOUR)
    live.do(START - HOUR, commit)
    with served(live) as challenge:
        challenge.now = START
        entry = challenge.put("amber", lists(4, 4)).json()["id"]
        challenge.put("blue", lists(3, 3))
        found: list[tuple[bool, bool]] = []
        for at in TIMES:
            challenge.now = at
            if at == TIMES[-1]:
                live.do(at, lambda challenge, store: reveal(challenge, store, challenge.tracks))
            challenge.run()
            live.render(at)
            document = challenge.entry("amber", entry)
            assert document["state"] == "scored"
            found.append((bool(document["scores"]), document["rank"] is not None))
            other = json.dumps(challenge.get("blue", "/entries").json())
            assert "amber" not in other
    assert tuple(zip(*found, strict=True)) == (scores, ranks)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ('score = "soon"', '"now", "close", "final", "reveal", "never"'),
        ('points = "now"', "unknown key"),
        ('board = {team = "final", everyone = "final"}', "shown to its team anyway"),
        ('score = {team = "final", everyone = "now"}', "before the team"),
        ('rank = "final"', "at another moment than scores"),
        ('score = "final"\nrank = {team = "now", everyone = "final"}', "before its score"),
    ],
)
def test_what_is_wrong_is_said(table: str, error: str, tmp_path: Path) -> None:
    """With the key."""
    live = live_of(tmp_path / "live", table)
    with pytest.raises(ChallengeError, match=re.escape(error)):
        read_challenge(live.folder)


def test_the_table_is_a_rule(tmp_path: Path) -> None:
    """Once a phase has started, the file does not change it, and the record has what was declared."""
    live = live_of(tmp_path / "live", 'score = {team = "now", everyone = "final"}\nboard = "close"')
    live.run(START - HOUR)
    live.run(START)
    live.edit('board = "close"', 'board = "now"')

    def hidden(challenge: Challenge, store: Store) -> frozenset[str]:
        return store.read(lambda view: Now.of(view, challenge.tracks[0]).track.hidden)

    assert live.do(START + HOUR, hidden) == {"score", "board"}
    recorded = live.events("basis")[-1].values["settings"]["visibility"]
    assert recorded == {"score": {"team": "now", "everyone": "final"}, "board": "close"}
