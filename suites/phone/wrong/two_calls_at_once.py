"""Wrong solutions of two calls at once that are more than changed calls."""

from clerkship.plugin import override_methods

ANSWER = {"reference": "2602250118", "fax": "5550100149", "visit": "14:45", "brought_by": "Ruth Ainsley"}
PATIENT_WORDS = (
    "Riverbend Family Health Center. May I have your date of birth?",
    "Your visit of today moves: to 11:15 a.m. or 2:45 p.m. Which one?",
    "Goodbye.",
)
PAYER_WORDS = (
    "Our NPI is 9 9 9 9 9 0 0 0 1 9, the member ID C M 4 8 8 6 0 6 3 8 9, born May 2, 1964.",
    "What is the status of the authorization?",
    "Where do I fax records?",
    "No, thank you. Goodbye.",
)


class RepresentativeGone(Exception):
    """Raised when the representative has given up."""


def call_one_after_the_other(task_item, sandboxes):
    """Call the patient first, and the payer after that."""
    phone = sandboxes["phone"]
    sandboxes.wait("5m")
    call = phone.dial("+16245550108")
    for words in PATIENT_WORDS:
        phone.hear(call)
        phone.say(call, words)
    phone.hear(call)
    call = phone.dial("+18005550142")
    for keys in ("9999900019", "0"):
        phone.hear(call)
        phone.press(call, keys)
    while not any("my name is" in part.get("text", "") for part in phone.hear(call)["heard"]):
        pass
    for words in PAYER_WORDS:
        phone.say(call, words)
        phone.hear(call)
    return ANSWER


def keep_representative_waiting(task_item, sandboxes, reference):
    """Come back to the payer's call when the representative has given up."""
    said = []

    def say(original, call, text):
        said.append(text)
        return original(call, text)

    def listen(original, call, seconds):
        if said and "goodbye" in said[-1]:
            sandboxes.wait("13m")
            raise RepresentativeGone
        return original(call, seconds)

    try:
        return reference(task_item, override_methods(sandboxes, {"phone.say": say, "phone.listen": listen}))
    except RepresentativeGone:
        return ANSWER
