"""How many entries a team may send: the table `quota` of a track."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from scorer.challenge.tables import SettingsTable

COUNT = "a whole number from 1"


def _known_zone(name: str) -> str:
    """The name in the IANA database, where the sign of an offset is the opposite: "AoE" is UTC-12, "Etc/GMT+12"."""
    offset = re.fullmatch(r"(?:UTC|GMT)([+-])0?(\d{1,2})(?::?00)?", "UTC-12" if name == "AoE" else name)
    if offset:
        name = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{offset[2]}"
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError("is not the name of a time zone") from None
    return name


Count = Annotated[int, Field(ge=1, le=10**9)]


class Quota(SettingsTable):
    """The limits on the entries of a team in a track; None: no limit."""

    per_day: Count | None = Field(None, description=COUNT)
    zone: Annotated[str, AfterValidator(_known_zone)] = Field(
        "UTC", description='the name of a time zone, as in "UTC", "Europe/Ljubljana", "UTC-12" or "AoE"'
    )
    per_phase: Count | None = Field(None, description=COUNT)
    total: Count | None = Field(None, description=COUNT)
    rejected_per_day: Count | None = Field(None, description=COUNT)

    @property
    def limits_anything(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for limit in (self.per_day, self.per_phase, self.total, self.rejected_per_day))

    @property
    def counts_days(self) -> bool:
        """Whether the day of an entry matters."""
        return self.per_day is not None or self.rejected_per_day is not None

    def day(self, moment: datetime) -> str:
        """The calendar day of a moment in the zone of the quota, as in ``2027-04-18``."""
        return self._local(moment).date().isoformat()

    def next_day(self, moment: datetime) -> datetime:
        """When the next calendar day begins, in UTC: when the limits per day begin again."""
        tomorrow = self._local(moment).date() + timedelta(days=1)
        return datetime.combine(tomorrow, time(), ZoneInfo(self.zone)).astimezone(UTC)

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.zone))


NO_QUOTA = Quota.model_validate({})
