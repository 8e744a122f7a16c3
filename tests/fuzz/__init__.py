"""A fuzzer for the readers: files of every format, mutated by their structure, and what must hold for each of them."""
