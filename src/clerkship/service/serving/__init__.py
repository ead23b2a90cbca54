"""Use cases of the server: its database, keys, solvers and published versions. Nothing here knows HTTP."""
