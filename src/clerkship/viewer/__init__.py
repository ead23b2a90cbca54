"""The viewer: pages over stored runs and over a task that a person plays, for the local command and the server."""
