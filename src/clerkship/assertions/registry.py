"""The generic checks there are."""

from clerkship.assertions.answer_matches import AnswerMatches
from clerkship.assertions.bot_did_not_utter import BotDidNotUtter
from clerkship.assertions.bot_uttered import BotUttered
from clerkship.assertions.contract import Assertion
from clerkship.assertions.event_count import EventCount
from clerkship.assertions.event_occurred import EventOccurred
from clerkship.assertions.never import Never
from clerkship.assertions.sequencing import Sequencing

ASSERTIONS: tuple[type[Assertion], ...] = (
    AnswerMatches,
    BotDidNotUtter,
    BotUttered,
    EventCount,
    EventOccurred,
    Never,
    Sequencing,
)
