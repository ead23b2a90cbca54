"""The phone tree of the line that a `voice` sandbox without configured lines has."""

from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.tree import IvrTree

EXAMPLE_TREE = IvrTree.model_validate(
    {
        "name": "example",
        "start": "welcome",
        "nodes": {
            "welcome": {"type": "say", "prompt": "Thank you for calling Lakeside Pharmacy.", "next": "main"},
            "main": {
                "type": "menu",
                "prompt": "For opening hours, press 1. For the status of an order, press 2. "
                "To leave a message, press 3. To speak with a pharmacist, press 0.",
                "choices": [
                    {"key": "1", "speech": ["opening hours", "hours"], "next": "hours"},
                    {"key": "2", "speech": ["order", "status"], "next": "order"},
                    {"key": "3", "speech": ["message"], "next": "message"},
                    {"key": "0", "speech": ["pharmacist"], "next": "queue"},
                ],
            },
            "hours": {"type": "say", "prompt": "We are open from 8 to 18 on every weekday.", "next": "main"},
            "order": {
                "type": "collect",
                "prompt": "Please enter your order number, followed by the pound key.",
                "variable": "order_number",
                "min_length": 4,
                "max_length": 8,
                "confirm": True,
                "next": "status",
            },
            "status": {"type": "end", "prompt": "Order {order_number|digits} is ready for pickup. Goodbye."},
            "message": {
                "type": "voicemail",
                "prompt": "Please leave a message after the tone.",
                "mailbox": "pharmacy",
            },
            "queue": {"type": "queue", "wait": "1m", "position": 2, "announce_every": "30s", "next": "transfer"},
            "transfer": {"type": "transfer", "representative": "pharmacist"},
        },
    }
)
EXAMPLE_REPRESENTATIVE = RepresentativeScript.model_validate(
    {
        "name": "Robin",
        "greeting": "Lakeside Pharmacy, this is Robin. How can I help you?",
        "answers": [
            {"asks": ["when do you close", "opening hours"], "says": "We close at 18.", "is_public": True},
            {
                "asks": ["open a case", "make a complaint"],
                "hook": "office.open_case",
                "arguments": {"subject": "Complaint"},
                "says": {"opened": "I have opened case {case_number|digits}."},
                "is_public": True,
            },
        ],
    }
)
