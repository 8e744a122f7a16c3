"""``python -m scorer`` is ``scorer``."""

from __future__ import annotations

from scorer.cli import main

if __name__ == "__main__":
    main()
