"""The formats of solutions and submissions.

Seven modules are formats: vlnet, trec, delimited, jsonl, json_document, parquet and letor. `detection` has
their interface, lists them and detects the format of a file, `reading` turns bytes into batches of rows, `writing` has
the content that formats write, and `conversion` converts a file from any format to any other.
"""
