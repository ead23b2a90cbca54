"""Recognise ordinary assistant speech in a line that a simulated person would say.

English only. The patterns favour precision: a false match makes a trial invalid. What a customer could say just as well
("Let me check", "You're welcome", "What is your phone number?") is not matched.
"""

import re
from collections.abc import Iterable, Sequence

_I = r"(?:i|we)"
_WILL = rf"{_I}(?:['’](?:ll|m going to|re going to|d)| will| can| could| may| am going to| are going to)"
_HAVE = rf"{_I}(?:['’]ve| have)(?: just| now| already| successfully)?"
_CANNOT = rf"{_I}(?:['’](?:m|re)| am| are) (?:unable|not able) to|\b{_I} (?:can(?:not|['’]t)|could not|couldn['’]t)"
_SURELY = r"(?: (?:certainly|definitely|absolutely|gladly|surely|happily|also))?"
_MATTER = (
    r"(?:order|account|refund|request|appointment|prescription|reservation|booking|subscription|claim|package|payment"
    r"|(?:shipping|billing|delivery) address|profile|identity|(?:medical )?records?"
    r"|personal (?:information|data|details)|membership|cancellation|password)\b"
    r"(?! (?:page|form|policy|portal|link|line|site|app|button|system|screen|desk|department|reminder|options?"
    r"|confirmation|e-?mails?|messages?|letters?)\b)"
)
"""What belongs to a customer: an agent says "your order", the customer "my order"."""
_PRIVATE = (
    r"(?:(?:full |first |last )?name and )?"
    r"(?:order|account|customer|member(?:ship)?|policy|patient|booking|reservation|card"
    r"|insurance|prescription|claim|medical record|social security|invoice) ?(?:number|id|no\b|reference|code)"
    r"|date of birth|birth ?date|pin\b|zip(?: code)?\b|password|social security"
)
"""What a customer never asks an agent for."""
_DONE = (
    r"(?:process|cancel+|updat|issu|refund|reset|reschedul|schedul|book|submit+|chang|forward|escalat|locat|verif(?:i|y)|plac"
    r"|credit|appl(?:i|y)|renew|reserv)(?:e?d)?"
)
_DO = (
    r"(?:look (?:up|into|at)|check(?: on)?|pull up|process|cancel|update|issue|reset|schedule|reschedule|book|change"
    r"|forward|escalate|locate|find|verify|place|track|review|access|complete|share|view|discuss|retrieve|confirm|modify|fulfil+)"
)
_STATE = (
    r"(?:processed|cancel+ed|confirmed|shipped|scheduled|rescheduled|booked|approved|dispatched|refunded|updated|submitted"
    r"|forwarded|sent|received|delivered|declined|on (?:its|the) way|out for delivery|ready|active)"
)
_OFFERS = (
    rf"\b(?:how|what|where) (?:can|may|could|should|else can) {_I} (?:help|assist|be of|do for you)\b",
    rf"\bhow may {_I} direct\b",
    rf"\b(?:can|may|could) {_I} (?:help|assist) you (?:with (?:any|some)|today|further)",
    rf"\b(?:any|some)thing else (?:that )?{_I} (?:can|could|may) (?:help|assist|do for)\b",
    rf"\b{_I}(?:['’](?:d|ll)| would| will)(?: be)?(?: more than| very)? (?:happy|glad|pleased|love) to"
    rf" (?:help\b(?! (?:me|my|clarify|out))|assist\b|{_DO}\b[^.!?]{{0,40}}\bfor you\b)",
    rf"\b{_I}(?:['’](?:m|re)| am| are) here to (?:help|assist)(?: you\b|\s*(?:[.!?,]|$))",
    rf"\b{_WILL}{_SURELY} (?:help|assist)(?: you)? (?:with (?:that|this|your|any)|track|find your|{_DO} your)",
    r"\b(?:to|can|could|may|will|['’]ll|be) assist(?:ing)? you\b",
    rf"\b{_I}(?:['’]ll| will) be (?:helping|assisting) you\b",
    rf"\blet (?:me|us) know (?:if|how) (?:{_I} can (?:help|assist)|(?:there(?:['’]s| is) anything|you have any) "
    r"(?:else i can|other|more|further|questions))",
    r"\bif you have any (?:other|further|more) questions\b",
    r"\b(?:feel free|do(?: not|n['’]t) hesitate) to (?:ask|reach out|contact us)\b(?! (?:my|me)\b)",
    r"\bwould you like me to (?:go ahead|proceed|process|transfer|connect|schedule|book|issue|assist|help)\b",
    r"\bwould you like to (?:proceed|schedule|reschedule|book|place an order|speak (?:to|with) (?:a|an|one)\b)",
)
_DEEDS = (
    rf"\b(?:let me|{_WILL}){_SURELY} {_DO} (?:\w+ ){{0,4}}your {_MATTER}",
    rf"\b{_HAVE} {_DONE} (?:\w+ ){{0,2}}your {_MATTER}",
    rf"\b(?:let me|{_WILL}|while i) (?:transfer|connect|redirect|forward) you\b",
    rf"\b(?:let me|{_WILL}) {_DO} (?:that|this|it|into that|into this)(?: up)? for you\b",
    rf"\byour {_MATTER}(?: (?:request|number))? (?:has been|have been|is|will be)"
    rf"(?: now| being| \w+ly)? {_STATE}\b",
    rf"\b(?:{_CANNOT}) (?:\w+ ){{0,6}}for you\b(?! to\b)",
    rf"\b(?:{_CANNOT}) {_DO} (?:\w+ )?your {_MATTER}",
    rf"\b{_I} (?:do not|don['’]t) have access to your {_MATTER}",
)
_ASKS = (
    rf"\b(?:can|could|may|might|would|will) (?:you|{_I})(?: please)? "
    rf"(?:give|tell|provide|share|confirm|verify|have|get|know)(?: me| us)?(?: with)?(?: please)? your (?:{_PRIVATE})",
    rf"\b(?:what(?:['’]s| is)|please (?:provide|give|enter|confirm|verify|share|tell)(?: me| us)?(?: with)?)"
    rf" your (?:{_PRIVATE})",
    rf"\b{_I}(?:['’]ll| will)?(?: just| also)? need your (?:{_PRIVATE})",
    r"\b(?:address|number) on your account\b",
    rf"\bask (?:you )?for your (?:{_PRIVATE})",
)
_HOUSE = (
    r"\bthank(?:s| you) for (?:contacting|calling|choosing|reaching out)\b(?! (?:me|back|to me)\b)",
    r"\b(?:being|as) a (?:valued|loyal) (?:customer|member|patient)\b|\bappreciate your business\b",
    r"\bsorry to hear (?:that you|about your|your)\b",
    rf"\b{_I} (?:completely |fully |totally )?understand your frustration\b",
    r"\binconvenience (?:this|it|that)(?: \w+){1,3} caused you\b",
    r"\bone of our (?:agents|representatives|specialists|advisors|team)\b",
    r"\bour (?:customer (?:service|support) )?team (?:is|will)\b",
    r"\b(?:according to|in) our records\b|\bour records (?:show|indicate)\b",
    r"\byou(?:['’]ve| have) reached (?:the|our)\b|\bwelcome to (?:\w+ ){1,3}(?:support|service|chat|help ?desk)\b",
    r"\bas an? (?:customer (?:service|support)|support|service) (?:agent|representative|assistant)\b",
    r"\bhere are (?:some|a few|the) (?:options|steps|suggestions|tips)\b",
    r"\brecommend (?:contacting|consulting|speaking (?:to|with)|reaching out)\b(?! my\b)",
)
_SPEECH = re.compile("|".join((*_OFFERS, *_DEEDS, *_HOUSE)), re.IGNORECASE)
_ASKING = re.compile("|".join(_ASKS), re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")
_QUOTED = re.compile(r"[\"“„«][^\"“”»\n]{1,400}[\"”»]")
_REPORTING = re.compile(r"\b(?:says|said|saying|told|tells|reads|stat(?:es|ed)|wrote|writes|promised|asks|asked)\b")
"""A sentence that reports what somebody else said is not the speaker's own offer."""


def assistant_phrase(message: str, heard: Sequence[str] = ()) -> str | None:
    """Return the first phrase in a message that only an assistant says; None if there is none.

    Text in quote marks and reported speech do not count, nor does a question that repeats the agent's own (`heard`).
    """
    for sentence in _sentences(_QUOTED.sub(" ", message)):
        own = _before_report(sentence)
        match = _SPEECH.search(own)
        if match is not None:
            return match[0]
        asked = _ASKING.search(own)
        if asked is not None and not any(asked[0].casefold() in text.casefold() for text in heard):
            return asked[0]
    return None


def _sentences(text: str) -> Iterable[str]:
    return (match[0] for match in _SENTENCE.finditer(text))


def _before_report(sentence: str) -> str:
    reporting = _REPORTING.search(sentence.casefold())
    return sentence if reporting is None else sentence[: reporting.start()]
