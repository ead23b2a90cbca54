"""Generic assertions, one per file. Assertions of a simulator are in its folder."""
