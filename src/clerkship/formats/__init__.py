"""The standards as pure functions: no sandbox, no state, no I/O but the tables beside them."""
