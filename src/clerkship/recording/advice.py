"""What to do about a recording that lacks an answer."""

REFRESH_HINT = "--refresh records what is missing, and nothing else"
