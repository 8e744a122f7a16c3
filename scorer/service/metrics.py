"""Metrics: what the service counts, for the organiser only. No label names a team."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


@dataclass
class Metrics:
    """The counters of a process."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.accepted = Counter("scorer_accepted", "Deliveries that were accepted.", registry=self.registry)
        self.repeated = Counter("scorer_repeated", "Deliveries that had been accepted before.", registry=self.registry)
        self.refused = Counter("scorer_refused", "Requests that were refused.", ["code"], registry=self.registry)
        self.bytes = Counter("scorer_received_bytes", "Bytes of accepted deliveries.", registry=self.registry)
        self.uploading = Gauge("scorer_uploading", "Deliveries that are being received.", registry=self.registry)
        self.events = Gauge("scorer_events", "Events of the record.", registry=self.registry)
        self.accepting = Histogram(
            "scorer_accepting_seconds", "From the last byte of a delivery to its answer.", registry=self.registry
        )

    def text(self) -> bytes:
        """All of them, in the format of Prometheus."""
        return generate_latest(self.registry)
