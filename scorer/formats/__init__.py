"""The formats of solutions and submissions.

Each of seven modules is a format: vlnet, trec, delimited, jsonl, json_document, parquet and letor. `format.Format` says
what such a module offers; `detection` lists them and finds the format of a file. `reading` turns bytes into batches of
rows, `writing` holds what a format writes, `conversion` goes from any format to any other.
"""
