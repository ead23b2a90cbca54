"""The generic checks there are."""

from clerkship.assertions.answer_matches import AnswerMatches
from clerkship.assertions.bot_did_not_utter import BotDidNotUtter
from clerkship.assertions.bot_uttered import BotUttered
from clerkship.assertions.contract import Assertion
from clerkship.assertions.event_count import EventCount
from clerkship.assertions.event_occurred import EventOccurred
from clerkship.assertions.generative_response_is_grounded import GenerativeResponseIsGrounded
from clerkship.assertions.generative_response_is_relevant import GenerativeResponseIsRelevant
from clerkship.assertions.judged import Judged
from clerkship.assertions.never import Never
from clerkship.assertions.sequencing import Sequencing

ASSERTIONS: tuple[type[Assertion], ...] = (
    AnswerMatches,
    BotDidNotUtter,
    BotUttered,
    EventCount,
    EventOccurred,
    GenerativeResponseIsGrounded,
    GenerativeResponseIsRelevant,
    Judged,
    Never,
    Sequencing,
)
