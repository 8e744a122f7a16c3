"""The pages of a challenge, from templates to a folder that opens from disk."""
