"""The documentation, and what makes its pages about the measures."""
