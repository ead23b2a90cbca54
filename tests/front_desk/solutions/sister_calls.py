"""Give no information to an unidentified caller."""


def on_turn(message):
    return "I am sorry, I can only talk about it with the patient. Please have her call with her date of birth."
