"""Whether a message only asks for a call back: the matcher `only_asks_to_call`.

Others may hear such a message, so it has nothing but for whom it is, who calls, and how to call back. No list of words
has all ways of that, nor all that is too much. So each clause must be about the call itself, and may have no reason, no
urgency, nothing that a person has, and no state of anything.
"""

import re
from collections.abc import Iterator, Sequence

from clerkship.text.folding import fold
from clerkship.text.said_values import remove_said
from clerkship.text.spoken_text import read_spoken

_CLAUSE = re.compile(r"[.,;:!?()\n–—]+|\s-\s|\b(?:and|but|or)\b")
_TITLE = re.compile(r"\b(mr|mrs|ms|attn|st)\.")
_FUNCTION = frozenset(
    re.split(
        " ",
        "a all an and are as at be been by do for from he i in is it its just me mr mrs ms of on or our she so that "
        "the them they this to us very was we were with yes you attn oh ok okay one can could would will shall may "
        "might then there only much many lot also too now well really simply directly either personally find get how",
    )
)
"""Words of which a clause may be left when names and numbers are taken out of it."""
_HEAD = re.compile(
    r"\b(?:call\w*|ring\w*|phon\w*|telephon\w*|dial\w*|reach\w*|contact\w*|numbers?|messages?|voicemails?|"
    r"hello|hi|hey|dear|"
    r"good ?(?:morning|afternoon|evening|day|bye)?|greetings|thank\w*|please|bye|cheers|regards|take care|"
    r"care|best|hope|hoping|"
    r"wish|speak\w*|talk|hear\w*|back|again|repeat\w*|office|hours|open|desk|team|staff|receptionist|"
    r"(?:mon|tues|wednes|thurs|fri)days?|"
    r"week ?days?|between|until|till|convenience|convenient|moment|minute|chance|when|whenever|any ?time|"
    r"time|tr(?:y|ying|ied)|"
    r"get (?:a )?hold|hold of|line|appreciat\w*|grateful|glad|happy|pleasure|leav\w*|left|miss\w*|sorry|"
    r"listen\w*|business|"
    r"lovely|nice|great|rest of|day|evening|weekend|hesitate|rush|hurry|forward|touch|attention|behalf|"
    r"here|am|pm|o'clock|free|once (?:more|again))\b"
)
"""A clause about the call has one of these."""
_REASON = re.compile(
    r"\b(?:about|regarding|concerning|because|since|due to|reason\w*|in connection|with respect|as to|"
    r"relating|re|discuss\w*|review\w*|"
    r"go over|explain\w*|follow(?:ing)?[ -]?up|know (?:that|how|what)|update\w*|inform\w*|find out|learn|"
    r"answers?|questions?|"
    r"remind\w*|confirm\w*|told|tell|says?(?! (?:it|that|this|the number)\b)|wants?|expects?|found|"
    r"show\w*|receive[ds]? (?:the|your)|came|come|see|saw|"
    r"results?|tests?|tested|treat\w*|medic\w*|prescri\w*|diagnos\w*|condition|symptom\w*|procedures?|bills?|"
    r"appointments?|visits?|schedul\w*|book\w*|dr|doctors?|physicians?|nurses?|clinicians?|providers?|"
    r"specialists?|surgeons?|"
    r"therapists?|pharmac\w*|patients?|born|birth\w*)\b|\b(?:how|what|why|whether|which)\b(?! are you)"
)
"""What it is about, or who wants it."""
_URGENCY = re.compile(
    r"\b(?:urgen\w*|emergenc\w*|immediate\w*|asap|as soon as|(?<!you )(?<!talk )(?<!speak )soon(?:est)?|"
    r"right (?:away|now)|at once|today|tonight|tomorrow|this week|"
    r"important\w*|serious\w*|worr\w*|alarm\w*|concern\w*|news|priority|promptly|critical\w*|"
    r"quick(?:ly)?(?! (?:call|message|note|word|hello)\b)|"
    r"must|need\w*|without delay|"
    r"necessary|within)\b"
)
_OWNED = re.compile(
    r"\b(?:your|his|her|their|my|some|any|new|more)\s+(?!(?:own|very|earliest|return|next|direct|main|"
    r"usual|regular|normal|phone|first|"
    r"best|good|kind)\b)([a-z']+)"
)
_CALL_NOUN = re.compile(
    r"(?:calls?|callback|convenience|phone|telephone|mobile|voicemails?|mailbox|messages?|times?|day|"
    r"evening|afternoon|morning|"
    r"weekends?|week|attention|patience|help|kindness|understanding|office|team|desk|numbers?|line|names?|"
    r"rest|best|moment|chance|"
    r"opportunity|hours|leisure|earliest|weekdays?|is|was|from|a|behalf|of|who|one|trouble|rush|hurry|you)"
)
"""What one may have in such a message."""
_STATE = re.compile(
    r"\b(?:is|are|was|were|it's|that's|all's|everything's|looks|seems|went|turned out)\s+(?:now |all |"
    r"very |so |really |just )*"
    r"(?!(?:for|a|an|the|this|that|call\w*|try\w*|ring\w*|phon\w*|open|available|happy|glad|pleased|"
    r"delighted|grateful|our|my|here|at|in|on|"
    r"from|with|us|me|speak\w*|intended|meant|leav\w*|hop\w*|look\w*|reach\w*|there|doing|well|sorry|one|"
    r"no|only|again|you|to|of|"
    r"convenient|good|best|easiest|simply|free|able|back|closed|by|as|until|between|between|through|"
    r"repeated|it)\b)[a-z]+"
)
"""How something is, such as `all is fine`."""
_PLACE = re.compile(
    r"(?<!front )(?<!our )(?<!the )(?<!main )(?<!this )(?<!reception )(?<!your )(?<!my )(?<!an )(?<!phone )"
    r"(?<!direct )(?<!same )"
    r"(?<=[a-z] )(?:desk|department|unit|clinic|ward|team|group|line)\b"
)
"""A part of an office, whose name may tell what it is about."""
_CONTRACTION = re.compile(r"'(?:s|re|ve|d|ll|m)$")
_NUMBER = re.compile(r"\d(?:[ -]?\d){3,}")
_SPELLED = re.compile(r"\b(?:(?![aio]\b)[a-z][ .-]+){1,}(?![aio]\b)[a-z]\b")


def only_asks_to_call(values: Sequence[str] | str, text: str) -> bool:
    """Return whether a text says nothing but these values (names, numbers) and that they should call."""
    return next(find_other_clauses([values] if isinstance(values, str) else values, text), None) is None


def find_other_clauses(values: Sequence[str], text: str) -> Iterator[str]:
    """Yield the clauses of a text that say more than for whom it is, who calls, and how to call back."""
    rest = remove_said(sorted(values, key=len, reverse=True), _TITLE.sub(r"\1", fold(text).replace("’", "'")))
    lower = rest.lower()
    for form in dict.fromkeys((lower, *(form.lower() for form in read_spoken(rest).list_forms()))):
        if _NUMBER.search(form):
            yield form
    for clause in map(str.strip, _CLAUSE.split(lower)):
        if any(map(str.isalpha, clause)) and not _is_about_call(clause):
            yield clause


def _is_about_call(clause: str) -> bool:
    words = re.findall(r"[^\W\d_][\w']*", clause)
    if all(_CONTRACTION.sub("", word) in _FUNCTION for word in words):
        return not _SPELLED.search(clause)
    if _HEAD.search(clause) is None or _REASON.search(clause) or _URGENCY.search(clause) or _SPELLED.search(clause):
        return False
    if _PLACE.search(clause) or any(_CALL_NOUN.fullmatch(noun) is None for noun in _OWNED.findall(clause)):
        return False
    return "hop" in clause or _STATE.search(clause) is None
