"""Operations, one file each (R4 operations)."""
