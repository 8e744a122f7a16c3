"""A Dask cluster of two workers on this machine: prints its address, and runs until its input ends."""

from __future__ import annotations

import sys

from distributed import LocalCluster


def main() -> None:
    """Run the cluster until the input ends."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
