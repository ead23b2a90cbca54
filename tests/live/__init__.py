"""Against servers that nobody here wrote: minutes, so only when asked for with `make test-live`."""
