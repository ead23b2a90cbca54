"""Operations, one file each (R4 §3.2)."""
