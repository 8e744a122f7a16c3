"""The service: files are handed in over HTTP, and scored while it runs."""
