"""Which judge can say something about which message."""

from tests.clients.x12_judges.as_4010 import as_4010
from tests.clients.x12_judges.judges import JUDGES, JudgeName
from tests.clients.x12_judges.messages import interchange
from tests.clients.x12_judges.mutations import ENVELOPE

ENVELOPE_FLAWS = frozenset(mutation.flaw for mutation in ENVELOPE)


def is_in_scope(judge: JudgeName, name: str, flaw: str = "") -> bool:
    """Whether a judge knows the set, and could see the flaw.

    linuxforhealth-x12 has models of 270, 271, 276 and 277. pyx12 has maps of the 999 and of the TA1, and those of the
    4010 278. node-x12 parses everything but a TA1 without a group; beyond envelopes it knows no rules.
    """
    if judge == "linuxforhealth-x12":
        return name.startswith(("270", "271", "276", "277"))
    if judge == "pyx12":
        return name.startswith(("278", "999", "TA1"))
    return not name.startswith("TA1") and (not flaw or flaw in ENVELOPE_FLAWS)


def find_judged(judge: JudgeName, messages: dict[tuple[str, str], str]) -> dict[tuple[str, str], list[str]]:
    """Return the errors that a judge finds in each message in its scope. Keys are the name and the flaw, if any."""
    judged = {key: text for key, text in messages.items() if is_in_scope(judge, *key)}
    texts = [to_judge(judge, name, text) for (name, _), text in judged.items()]
    return dict(zip(judged, JUDGES[judge](texts), strict=True))


def to_judge(judge: JudgeName, name: str, text: str) -> str:
    """Return a message in the version that the judge knows."""
    is_translated = judge == "pyx12" and name.startswith("278")
    return interchange(as_4010(text.rstrip("~").split("~"))) if is_translated else text
