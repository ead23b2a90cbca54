"""The command line: parses arguments, calls the service and prints the result."""
