"""Use cases: the only door to everything else for the faces (cli, and later api and mcp)."""
