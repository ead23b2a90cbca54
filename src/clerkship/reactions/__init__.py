"""Effects of events in one sandbox on another sandbox: one folder per pair of source and target kinds."""
