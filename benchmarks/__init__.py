"""Benchmarks: `python -m benchmarks` measures scorer and its peers on the same files, in one run.

generate.py   generates the files, from a seed
meter.py      runs a command, and measures its time, processor time and memory
tools.py      how each tool is called, and how its output is read
peers.py      the libraries among the peers, each in a separate process
kernels.py    scorer's measures on data in memory
certainty.py  the statistics of a board, by scorer and by scipy
parts.py      the parts of the benchmark
boards.py     the part about the statistics of boards
live.py       the part about runs of a live challenge
serving.py    the part about the service
record.py     the part about a record that grows
report.py     the tables
picture.py    the picture

They call scorer by its commands and by its public names. `INTERNAL` lists the modules that need others.
"""

INTERNAL = {
    "certainty": "times single steps of the statistics next to those of scipy; public functions do all at once",
    "generate": "computes the heads of a log itself, to write one of any size without a service",
    "record": "follows the record as a loop does, which no command does step by step",
    "serving": "records thousands of entries and issues tokens in one transaction each, before the measurement begins",
}
"""Why a module imports internals of scorer: nothing else may."""
