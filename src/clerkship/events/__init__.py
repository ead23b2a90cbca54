"""The one ordered log of a playground: what happened, in typed events, chained by hash."""
