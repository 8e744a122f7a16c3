"""The service: files are handed in over HTTP, and scored while it runs.

The queue is the record: an accepted file is an event, and a file in the folder of submissions. What has to be scored is
every admitted entry without a result, as for any other run.
"""
