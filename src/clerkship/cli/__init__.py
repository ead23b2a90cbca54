"""The command line: parses a request, calls the service, shows what came of it."""
