"""A bundle of format 1, and the boards that the version which wrote it rendered."""
