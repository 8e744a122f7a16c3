"""A Dask cluster of two workers on this machine: prints its address, and runs until its input ends."""

from __future__ import annotations

import sys

import dask
from distributed import LocalCluster

MEMORY = {"MALLOC_TRIM_THRESHOLD_": 1 << 30, "MALLOC_MMAP_THRESHOLD_": 1 << 30}
"""What `docs/running.md` advises: by default, workers return freed memory to the system at once, which takes long."""


def main() -> None:
    """Run the cluster until the input ends."""
    dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in MEMORY.items()})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
