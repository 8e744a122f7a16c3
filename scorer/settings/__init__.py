"""The challenge: the settings in challenge.toml, reading them, and a new challenge to start from."""
