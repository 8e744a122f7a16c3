"""What challenge.toml declares: settings, how they are read, and a new challenge to start from."""
