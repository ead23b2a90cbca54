"""Names and limits in the options of a run. They need no data model, so that the help of a command is fast."""

from typing import Final, Literal

IsolationMode = Literal["auto", "always", "never"]
RecordingMode = Literal["record", "replay", "refresh"]
PersonFacts = Literal["strict", "free"]
"""Whether a played person says only facts that they were given, or may make up facts that are missing."""
NO_MODEL: Final = "none"
MAX_TOKEN_LIMIT: Final = 1_000_000
"""The largest limit on the tokens of one answer."""
MAX_VOTES: Final = 15
"""Maximum number of times that a judge is asked about one criterion."""
