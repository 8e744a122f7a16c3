"""Statistics of scores: arrays in, arrays out."""
