"""What became of each submission by the challenge's rules."""
