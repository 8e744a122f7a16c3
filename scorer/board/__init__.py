"""The board as frozen plain values, built from the store."""
