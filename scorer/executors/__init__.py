"""Where submissions are scored: in this process, in several, or on a cluster.

    serial          one after the other, here
    processes       in as many processes of this machine as it has cores
    processes:N     in N of them
    dask:ADDRESS    on the workers of a Dask cluster, by its scheduler's address, as in dask:tcp://10.0.0.1:8786

Each scores files and gives summaries; none writes anything. The solution reaches each worker once. A worker that dies,
or takes longer than the time limit, costs the one submission that it had in hand, which becomes a Failed.
"""
