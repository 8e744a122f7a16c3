"""Operations on runs: fusion of several into one, and their overlap."""
