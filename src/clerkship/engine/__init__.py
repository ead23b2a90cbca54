"""Running: build names into objects, execute one trial, fold its criteria, batch many."""
