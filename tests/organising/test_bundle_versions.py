"""The bundle of each released version is imported by this one, with the same boards."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.errors import ScorerError
from scorer.organising.bundles import import_bundle, verified_bundle
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.bundles import archive, members, url_of, with_manifest
from tests.databases import NewPlace
from tests.public_archives import END, without_statistics
from tests.store import schema_5

FOLDER = Path(schema_5.__file__).parent
BUNDLE = FOLDER / "challenge.zip"


def test_a_bundle_of_schema_5_gives_the_same_log_and_boards(tmp_path: Path, new_place: NewPlace) -> None:
    """Its events have version 1 of the log, as before, and its entries have their results, so nothing is scored. The
    last look into each folder is there, too.
    """
    public = members(FOLDER / "challenge-archive.zip")
    assert not any(each.contradiction for each in verified_bundle(BUNDLE))

    import_bundle(BUNDLE, tmp_path / "new", url_of(new_place()), clock=lambda: END)

    assert (tmp_path / "new" / "site" / "log.jsonl").read_bytes() == public["public/log.jsonl"]
    for track in ("main", "lists"):
        with Store.open(read_challenge(tmp_path / "new").database_address) as store:
            look = store.read(lambda view: view.last_scan(track))  # noqa: B023
        assert look is not None
        assert look.at == END
        # Version 1.0 asked also of a team below the baseline whether it is better.
        words = b"Worse than the baseline popular", b"Better than the baseline popular"
        board = (tmp_path / "new" / "site" / track / "leaderboard.json").read_bytes()
        found, wanted = board.replace(*words), public[f"public/{track}/leaderboard.json"]
        assert without_statistics(found) == without_statistics(wanted)


def test_a_bundle_from_before_release_1_is_refused(tmp_path: Path) -> None:
    """The message says which version imports it."""
    earlier = tmp_path / "earlier.zip"
    earlier.write_bytes(archive(with_manifest(members(BUNDLE), schema=4, scorer="0.2.0")))

    with pytest.raises(ScorerError, match=r"schema version 4, .* 5 to 6; import it with scorer 1\.0, and export it"):
        import_bundle(earlier, tmp_path / "new")
