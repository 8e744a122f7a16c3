"""Side by side with the peers: `python -m benchmarks` measures them all on the same files, in one run.

generate.py   makes the files, from a seed
meter.py      runs a command, and measures its time, processor time and memory
tools.py      how each tool is called, and how its numbers are read
peers.py      the libraries among the peers, each in a process of its own
kernels.py    scorer's measures on what is already in memory
parts.py      what is measured
report.py     the tables
picture.py    the picture
"""
