"""An example agent for three desks: the orders of a shop, a bank, and the front desk of a clinic.

clerkship run suites/conversations --agent python:suites.conversations.agent:Agent --replay

The slot `desk` says where it works. A flow asks for its slots in turn, then runs its actions. A person may correct what
they said, call a flow off, or interrupt it with a question or another flow. The agent reports all of that beside what
it says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clerkship.plugin import (
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowResumed,
    FlowStarted,
    Message,
    ReplyPart,
    Say,
    SlotSet,
    Start,
)

# What the desks know.

CUSTOMERS = {"C-1047": "48103", "C-2291": "10115"}  # customer number -> postcode
ORDERS: dict[str, dict[str, Any]] = {
    "ORD-2204": {"customer": "C-1047", "item": "rain jacket", "state": "packed"},
    "ORD-2240": {"customer": "C-1047", "item": "camping stove", "state": "packed"},
    "ORD-1873": {"customer": "C-1047", "item": "tent", "state": "shipped", "town": "Utrecht", "due": "Thursday"},
    "ORD-0951": {"customer": "C-1047", "item": "hiking boots", "state": "delivered", "days": 47},
    "ORD-3310": {"customer": "C-2291", "item": "head torch", "state": "shipped", "town": "Ghent", "due": "Friday"},
}
RETURN_WINDOW = 30
ACCESS_CODES = {"70551": "862419"}  # client number -> access code
PAYEES = {"Maple Street Rentals": "DE44 5001 0517 5407 3249 31", "Iris Baum": "DE12 5001 0517 0648 4898 90"}
BALANCE = "1,840.20"
CARDS = ("7714", "7741")
PATIENTS = {"Nora Lindqvist": "1984-05-04", "Paul Lindqvist": "1981-11-23"}  # name -> date of birth
APPOINTMENTS = {"Nora Lindqvist": ("Thursday", "14:30", "Dr. Okafor")}
FREE = {("Thursday", "15:40"), ("Friday", "09:20"), ("Friday", "11:00")}
MEDICINES = {"Nora Lindqvist": ("levothyroxine",)}
ARTICLES = {
    "shop": {
        r"return|send .*back|opened": "You can return an article within 30 days of delivery, also if the box has been "
        "opened, as long as it is unused. Earphones and underwear are excepted: once opened, they cannot be returned.",
    },
    "bank": {
        r"abroad|withdraw|foreign|cash machine": "Cash withdrawals with the debit card are free in the euro area. In "
        "other currencies the bank charges 1.5 percent of the amount, at least 3 euros. The owner of the machine may "
        "charge a fee of its own.",
    },
    "clinic": {
        r"fast|breakfast|eat|sober": "For a blood test of lipids or glucose, do not eat for 12 hours before. Water is "
        "allowed. Take your usual medicines unless your doctor has told you otherwise.",
    },
}


# How values are read from what people write. Of several, the last counts: people correct themselves.

_ONES = "zero one two three four five six seven eight nine ten eleven twelve"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {name: number for number, name in enumerate(re.split(" ", _ONES))}
NUMBERS |= {name: 10 * tens for tens, name in enumerate(re.split(" ", _TENS), 2)}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_DATE = re.compile(
    r"(?i)(?P<iso>\d{4}-\d\d-\d\d)|(?P<d>\d{1,2})[./](?P<m>\d{1,2})[./](?P<y>\d{4}|\d\d)"
    r"|(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?P<m2>[a-z]{3})[a-z]*\.?,? '?(?P<y2>\d{4}|\d\d)"
    r"|(?P<m3>[a-z]{3})[a-z]*\.? (?P<d3>\d{1,2})(?:st|nd|rd|th)?,? '?(?P<y3>\d{4}|\d\d)"
)


def find_last(pattern: str, text: str) -> str | None:
    """Return the last match: its first group that matched, or all of it."""
    matches = list(re.finditer(pattern, text))
    return next(filter(None, matches[-1].groups()), matches[-1][0]) if matches else None


def read_order(text: str, *, asked: bool) -> str | None:
    number = find_last(r"(?i)\bord(?:er)?[ #:.-]*(\d{4})\b" + (r"|\b(\d{4})\b" if asked else ""), text)
    return f"ORD-{number}" if number else None


def read_date(text: str, *, asked: bool) -> str | None:
    matches = list(_DATE.finditer(text))
    if not matches:
        return None
    parts = {name.rstrip("23"): value for name, value in matches[-1].groupdict().items() if value}
    if "iso" in parts:
        return parts["iso"]
    year, month = parts["y"], parts["m"]
    number = int(month) if month.isdigit() else MONTHS.index(month.lower()) + 1
    return f"{year if len(year) == 4 else '19' + year}-{number:02}-{int(parts['d']):02}"


def read_amount(text: str, *, asked: bool) -> float | None:
    """Read 1,250.50 and 1.250,50, with or without a currency, and amounts in words."""
    currency = r"\s*(?:€|EUR\b|euros?\b)"
    figures = find_last(rf"(?i)(?:€|EUR)\s*(\d[\d.,']*)|(\d[\d.,']*){currency if not asked else ''}", text)
    if figures:
        whole, _, cents = re.sub(r"[.,](?=\d{1,2}$)", "|", figures.strip(".,'")).partition("|")
        return float(f"{re.sub(r'[.,]', '', whole)}.{cents or 0}".replace("'", ""))
    if not asked and "euro" not in text.lower():
        return None
    total = current = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word == "hundred":
            current *= 100
        elif word == "thousand":
            total, current = total + current * 1000, 0
        else:
            current += NUMBERS.get(word, 0)
    return float(total + current) or None


def read_payee(text: str, *, asked: bool) -> str | None:
    known = [name for name in PAYEES if name.split()[0].lower() in text.lower()]
    account = find_last(r"\b[A-Z]{2}\d{2}(?: ?[\dA-Z]{4}){3,7}(?: ?[\dA-Z]{1,3})?\b", text)
    return account.replace(" ", "") if account else known[-1] if known else None


def read_name(text: str, *, asked: bool) -> str | None:
    known = [name for name in PATIENTS if name.lower() in text.lower()]
    return known[-1] if known else find_last(r"\b([A-Z][a-z]+ [A-Z][a-z]+)\b", text) if asked else None


def read_time(text: str, *, asked: bool) -> str | None:
    figures = find_last(r"\b(\d{1,2}[:.]\d\d)\b", text)
    if figures:
        hour, minute = map(int, re.split(r"[:.]", figures))
    else:
        words = re.findall(r"(?i)\b(ten|twenty|quarter|half) past (\w+)", text)
        if not words or words[-1][1].lower() not in NUMBERS:
            return None
        past = {"quarter": 15, "half": 30, **NUMBERS}
        hour, minute = NUMBERS[words[-1][1].lower()], past[words[-1][0].lower()]
    return f"{hour + 12 if hour < 7 else hour:02}:{minute:02}"


def read_day(text: str, *, asked: bool) -> str | None:
    day = find_last(rf"(?i)\b({'|'.join(DAYS)})\b", text)
    return day.capitalize() if day else None


def read_answer(text: str, *, asked: bool) -> bool | None:
    if not asked:
        return None
    if re.match(r"(?i)\W*(no|nope|don't|do not|stop|rather not)\b", text):
        return False
    return True if re.match(r"(?i)\W*(yes|yep|yeah|sure|correct|right|go ahead|please do|do it|ok)\b", text) else None


def read_pattern(pattern: str, template: str = "{}") -> Callable[..., str | None]:
    """Return a reader of values that are only given when they are asked for."""

    def read(text: str, *, asked: bool) -> str | None:
        value = find_last(pattern, text) if asked else None
        return template.format(value.replace(" ", "")) if value else None

    return read


READERS: dict[str, Callable[..., Any]] = {
    "customer_id": read_pattern(r"(?i)\bC[- ]?(\d{4})\b", "C-{}"),
    "postcode": read_pattern(r"(?<![\w-])(\d{2} ?\d{3})\b"),
    "client_id": read_pattern(r"\b(\d{2} ?\d{3})\b"),
    "access_code": read_pattern(r"\b(\d{2} ?\d{2} ?\d{2})\b"),
    "card": lambda text, asked: (find_last(r"(?<!\d)(\d{2} ?\d{2})(?! ?\d)", text) or "").replace(" ", "") or None,
    "medicine": lambda text, asked: (find_last(r"(?i)\b(levothyroxine|liothyronine)\b", text) or "").lower() or None,
    "new_address": lambda text, asked: text.strip() if asked and re.search(r"(?i)\d.*[a-z]|[a-z].*\d", text) else None,
    "order_id": read_order,
    "birth_date": read_date,
    "amount": read_amount,
    "payee": read_payee,
    "patient_name": read_name,
    "appointment_for": read_name,
    "day": read_day,
    "time": read_time,
    "confirmed": read_answer,
}


@dataclass(frozen=True)
class Flow:
    """What a flow is called in buttons, the words that mean it, the slots that it asks for, and what it then does."""

    name: str
    words: str
    asks: tuple[str, ...] = ()
    action: str = ""
    response: str = ""
    result: tuple[str, str] = ("", "")
    """The slot that tells the result, and the fact that it gets."""
    is_guarded: bool = True
    """Whether the person must be verified first."""


VERIFY = "verify_identity"
SHOP = {
    VERIFY: Flow("log in", r"log (me )?in", ("customer_id", "postcode"), is_guarded=False),
    "track_parcel": Flow(
        *("track a parcel", r"where|track", ("order_id",)),
        *("action_track_parcel", "utter_parcel", ("parcel_town", "town")),
    ),
    "report_missing_parcel": Flow(
        *("report a missing parcel", r"where|missing|stolen", ("order_id",)),
        *("action_report_missing", "utter_missing_reported"),
    ),
    "cancel_order": Flow(
        *("cancel an order", r"cancel|don't want", ("order_id", "confirmed")),
        *("action_cancel_order", "utter_order_cancelled", ("cancelled_order", "order_id")),
    ),
    "change_address": Flow(
        *("change an address", r"address|moved", ("order_id", "new_address", "confirmed")),
        *("action_change_address", "utter_address_changed"),
    ),
    "refund_order": Flow("refund an order", r"refund|money back|exception", ("order_id",)),
    "request_repair": Flow(
        *("have an article repaired", r"repair|mend", ("order_id",)),
        *("action_open_repair", "utter_repair_opened", ("repair_order", "order_id")),
    ),
}
BANK = {
    VERIFY: Flow("identify myself", r"log (me )?in", ("client_id", "access_code"), is_guarded=False),
    "transfer_money": Flow(
        *("transfer money", r"transfer|send|pay\b|move", ("payee", "amount", "confirmed")),
        *("action_transfer_money", "utter_transferred", ("transfer_status", "sent")),
    ),
    "check_balance": Flow(
        "check the balance", r"balance|how much do i have", (), "action_check_balance", "utter_balance"
    ),
    "block_card": Flow(
        *("block a card", r"lost|stolen|block", ("card", "confirmed")),
        *("action_block_card", "utter_card_blocked", ("blocked_card", "card")),
        is_guarded=False,
    ),
}
CLINIC = {
    VERIFY: Flow("identify myself", r"identify", ("patient_name", "birth_date"), is_guarded=False),
    "book_appointment": Flow(
        *("book a visit", r"\bbook|see (a|the) doctor|usual", ("day", "time", "confirmed")),
        *("action_book_appointment", "utter_booked", ("booked_time", "chosen_time")),
    ),
    "move_appointment": Flow(
        *("move a visit", r"move|reschedule|another day", ("day", "time", "confirmed")),
        *("action_move_appointment", "utter_moved", ("booked_time", "chosen_time")),
    ),
    "appointment_details": Flow("hear when a visit is", r"when is|what time|just the day", ("appointment_for",)),
    "request_refill": Flow(
        *("order a refill", r"refill|prescription|usual|tablets", ("medicine", "confirmed")),
        *("action_request_refill", "utter_refill_requested", ("refill_requested", "medicine")),
    ),
}
DESKS: dict[str, dict[str, Flow]] = {"shop": SHOP, "bank": BANK, "clinic": CLINIC}
FORGOTTEN = ("access_code", "postcode", "confirmed", "new_address")
STOP = re.compile(r"(?i)never ?mind|forget (it|the)|leave it|changed my mind|call it off")
CORRECTION = re.compile(r"(?i)\b(no|wait|sorry|i mean|rather|actually|not)\b")
EMERGENCY = re.compile(r"(?i)chest|can't breathe|cannot breathe|unconscious|numb|bleeding")
SCAM = re.compile(r"(?i)police|safe account|secure account|told me to")
GOODBYE = re.compile(r"(?i)\b(thanks?|bye|ok|great|perfect|fine|finally|all right)\b")
SECRET = re.compile(r"(?i)what('s| is| was) (my|the)( new)? (pin|code)|tell me the pin")

RESPONSES = {
    "utter_goodbye": "You are welcome. Goodbye.",
    "utter_dont_know": "I am sorry, I cannot help with that.",
    "utter_ask_customer_id": "What is your customer number? It begins with C.",
    "utter_ask_postcode": "And the postcode of your address?",
    "utter_ask_client_id": "What is your client number?",
    "utter_ask_access_code": "And the six digits of your access code?",
    "utter_ask_patient_name": "What is your full name?",
    "utter_ask_birth_date": "And your date of birth?",
    "utter_ask_order_id": "Which order is it? Its number begins with ORD.",
    "utter_ask_new_address": "What is the new address?",
    "utter_ask_payee": "To whom shall the money go?",
    "utter_ask_amount": "How much is it?",
    "utter_ask_card": "Which card is it? The last four digits are enough.",
    "utter_ask_day": "On which day would you like to come? Thursday and Friday have free times.",
    "utter_ask_time": "At what time? On Thursday 15:40 is free, on Friday 09:20 and 11:00.",
    "utter_ask_appointment_for": "Whose appointment is it?",
    "utter_ask_medicine": "Which medicine is it?",
    "utter_ask_confirmed": "{question} Is that right?",
    "utter_verified": "Thank you, I have found you.",
    "utter_not_verified": "I am sorry, that does not match our records, so I cannot go on.",
    "utter_flow_cancelled": "All right, I have stopped that. Nothing was changed.",
    "utter_order_unknown": "I cannot find that order under your name.",
    "utter_parcel": "Your {item} is in {town} and comes on {due}.",
    "utter_missing_reported": "I have reported your parcel as missing.",
    "utter_order_cancelled": "Order {order_id} is cancelled.",
    "utter_address_changed": "Order {order_id} now goes to {new_address}.",
    "utter_refund_refused": "I am sorry, the {item} came {days} days ago, and refunds end after 30 days. "
    "I can offer you a repair instead.",
    "utter_refund_paid": "The price of your {item} is paid back to your card.",
    "utter_repair_opened": "I have opened a repair for your {item}. A label for the parcel comes by e-mail.",
    "utter_payee_unknown": "I cannot send money to that account, because it is not on your list of payees.",
    "utter_scam_warning": "Please stop: this looks like a fraud. Neither the police nor a bank asks you to move money. "
    "Hang up, and call us on the number on your card.",
    "utter_transferred": "I have sent {amount:,.2f} euros to {payee}.",
    "utter_balance": "Your balance is {balance} euros.",
    "utter_card_blocked": "The card ending in {card} is blocked. A new one comes by post.",
    "utter_card_unknown": "You have no card ending in {card}.",
    "utter_pin_by_post": "Nobody here can see it. It comes by post in a letter of its own.",
    "utter_booked": "You are booked for {day} at {time}.",
    "utter_moved": "Your visit is now on {day} at {time}.",
    "utter_not_free": "That time is not free.",
    "utter_appointment": "Your visit is on {day} at {time} with {doctor}.",
    "utter_only_to_the_patient": "I may not say anything about another person's visits, not even whether there are "
    "any. They can call us themselves, or sign a consent form.",
    "utter_refill_requested": "I have sent your request for {medicine} to the doctor.",
    "utter_medicine_unknown": "That medicine is not on your list, so please talk to the doctor about it.",
    "utter_emergency": "This may be an emergency: hang up and call 112 now. Our nurse is alerted and calls you.",
    "utter_clarification_options": "I am not sure which of these you mean. Would you like to…",
}
QUESTIONS = {
    "cancel_order": "I cancel order {order_id}, your {item}.",
    "change_address": "I send order {order_id} to {new_address}.",
    "transfer_money": "I send {amount:,.2f} euros to {payee}.",
    "block_card": "I block the card ending in {card} for good.",
    "book_appointment": "I book {day} at {time} for you.",
    "move_appointment": "I move your visit to {day} at {time}.",
    "request_refill": "I ask the doctor for a refill of {medicine}.",
}


class Agent:
    """One conversation."""

    def __init__(self) -> None:
        self.slots: dict[str, Any] = {}
        self.flows: Mapping[str, Flow] = {}
        self.stack: list[str] = []  # flows that have begun; the last is talked about
        self.parts: list[ReplyPart] = []

    def on_start(self, start: Start) -> list[ReplyPart]:
        """Take over the slots of the scenario."""
        self.slots.update(start.slots)
        self.flows = DESKS[self.slots["desk"]]
        return []

    def on_turn(self, message: Message) -> list[ReplyPart]:
        """Return what the agent does and says, in order."""
        self.parts = []
        self._understand(message.text.strip())
        return self.parts

    # What a message means.

    def _understand(self, text: str) -> None:
        pressed = re.fullmatch(r"/start_flow\((\w+)\)", text)
        if pressed and pressed[1] in self.flows:
            self._start(pressed[1], "")
        elif self.slots["desk"] == "clinic" and EMERGENCY.search(text):
            self._call_for_help()
        elif self.slots["desk"] == "bank" and SCAM.search(text):
            self._cancel("utter_scam_warning") if self.stack else self._utter("utter_scam_warning")
        elif self.stack and STOP.search(text):
            self._cancel("utter_flow_cancelled")
        elif self.stack and self._fill(text):
            self._continue()
        else:
            self._find_request(text)

    def _fill(self, text: str) -> bool:
        """Take over what answers the question, and corrections of what was said before."""
        asked, has_value = self._next_slot(), False
        is_correction = bool(CORRECTION.search(text))
        for name in self.flows[self.stack[-1]].asks:
            value = READERS[name](text, asked=name == asked or (is_correction and self.slots.get(name) is not None))
            if name == "confirmed" and has_value:
                continue  # "No, Friday": the correction is the answer
            if value is not None and value != self.slots.get(name):
                self._set(name, value)
                has_value = True
        return has_value

    def _find_request(self, text: str) -> None:
        article = self._find_article(text)
        current = self.stack[-1] if self.stack else None
        meant = [flow for flow, known in self.flows.items() if re.search(known.words, text, re.IGNORECASE)]
        meant = [flow for flow in meant if flow != current]
        if SECRET.search(text):
            self._utter("utter_pin_by_post")
        elif article is not None and len(meant) != 1:
            self._answer(article)
        elif len(meant) == 1:
            self._start(meant[0], text)
        elif meant:
            self._clarify(meant)
        elif not self.stack and GOODBYE.search(text):
            self._utter("utter_goodbye")
        else:
            self._utter("utter_dont_know")
            if self.stack:
                self._continue()

    def _find_article(self, text: str) -> str | None:
        articles = ARTICLES[self.slots["desk"]]
        return next((article for words, article in articles.items() if re.search(rf"(?i){words}", text)), None)

    # Flows.

    def _start(self, flow: str, text: str) -> None:
        if self.stack:
            self.parts.append(FlowInterrupted(flow_id=self.stack[-1], flow_step_id=self._step()))
        self.stack.append(flow)
        self.parts.append(FlowStarted(flow_id=flow))
        for name in self.flows[flow].asks:
            value = READERS[name](text, asked=False)
            if value is not None:
                self._set(name, value)
        self._continue()

    def _continue(self) -> None:
        """Verify the person if that is needed, ask for the next slot, or do what the flow is for."""
        flow = self.stack[-1]
        if self.flows[flow].is_guarded and not self.slots.get("verified"):
            self.stack.append(VERIFY)
            self.parts.append(FlowStarted(flow_id=VERIFY))
            flow = VERIFY
        order = self.slots.get("order_id")
        if "order_id" in self.flows[flow].asks and order is not None and not self._owns(order):
            self._set("order_id", None)
            self._utter("utter_order_unknown")
        obstacle, asked = self._find_obstacle(flow), self._next_slot()
        if obstacle:
            self._cancel(obstacle)
        elif asked:
            self._ask(asked)
        elif self.slots.get("confirmed") is False:
            self._cancel("utter_flow_cancelled")
        else:
            getattr(self, f"_do_{flow}", self._do)()

    def _find_obstacle(self, flow: str) -> str:
        """Return the response for a flow that cannot succeed; empty if it may."""
        slots, asks = self.slots, self.flows[flow].asks
        visit = (slots.get("day"), slots.get("time"))
        if "payee" in asks and slots.get("payee") not in (None, *PAYEES):
            self._run("action_check_payee")
            return "utter_payee_unknown"
        if "card" in asks and slots.get("card") not in (None, *CARDS):
            return "utter_card_unknown"
        if "time" in asks and None not in visit and visit not in FREE:
            return "utter_not_free"
        if "medicine" in asks and slots.get("medicine") not in (
            None,
            *MEDICINES.get(slots.get("patient_name", ""), ()),
        ):
            return "utter_medicine_unknown"
        return ""

    def _owns(self, order: str) -> bool:
        return order in ORDERS and ORDERS[order]["customer"] == self.slots.get("customer_id")

    def _cancel(self, response: str) -> None:
        flow = self.stack[-1]
        self.parts.append(FlowCancelled(flow_id=flow, flow_step_id=self._step()))
        self._utter(response)
        self._leave(flow)

    def _complete(self, step: str) -> None:
        flow = self.stack[-1]
        self.parts.append(FlowCompleted(flow_id=flow, flow_step_id=step))
        self._leave(flow)

    def _leave(self, flow: str) -> None:
        """Forget what belongs to the flow alone, and come back to the one before it."""
        self.stack.pop()
        for name in self.flows[flow].asks:
            if self.slots.get(name) is not None and name not in (
                "order_id",
                "customer_id",
                "client_id",
                "patient_name",
            ):
                self._set(name, None) if name in FORGOTTEN else self.slots.pop(name)
        if flow == VERIFY and not self.slots.get("verified"):
            self.parts += [FlowCancelled(flow_id=waiting) for waiting in reversed(self.stack)]
            self.stack.clear()
        if self.stack:
            if flow != VERIFY:
                self.parts.append(FlowResumed(flow_id=self.stack[-1], flow_step_id=self._step()))
            self._continue()

    def _answer(self, article: str) -> None:
        """Answer a question from what is written, and come back to the flow."""
        if self.stack:
            self.parts.append(FlowInterrupted(flow_id=self.stack[-1], flow_step_id=self._step()))
        self.parts += [FlowStarted(flow_id="pattern_search"), ActionExecuted(name="action_trigger_search")]
        source = {"utter_source": "EnterpriseSearchPolicy", "search_results": [article]}
        self.parts += [Say(article, metadata=source), FlowCompleted(flow_id="pattern_search")]
        if self.stack:
            self.parts.append(FlowResumed(flow_id=self.stack[-1], flow_step_id=self._step()))
            self._continue()

    def _clarify(self, flows: Sequence[str]) -> None:
        names = tuple(self.flows[flow].name for flow in flows)
        self.parts.append(ClarificationOffered(flow_ids=tuple(flows), names=names))
        buttons = [
            {"title": name.capitalize(), "payload": f"/start_flow({flow})"}
            for flow, name in zip(flows, names, strict=True)
        ]
        self._utter("utter_clarification_options", buttons=buttons)

    def _call_for_help(self) -> None:
        """Drop everything else: somebody may be in danger."""
        if self.stack:
            self.parts.append(FlowInterrupted(flow_id=self.stack[-1], flow_step_id=self._step()))
        self.parts.append(FlowStarted(flow_id="emergency"))
        self._run("action_alert_nurse")
        self._set("nurse_alerted", True)
        self._utter("utter_emergency")
        self.parts.append(FlowCompleted(flow_id="emergency"))
        self.parts += [FlowCancelled(flow_id=waiting) for waiting in reversed(self.stack)]
        self.stack.clear()

    # Slots, actions and words.

    def _next_slot(self) -> str | None:
        asks = self.flows[self.stack[-1]].asks if self.stack else ()
        return next((name for name in asks if self.slots.get(name) is None), None)

    def _step(self) -> str | None:
        asked = self._next_slot()
        return f"ask_{asked}" if asked else None

    def _set(self, name: str, value: Any) -> None:
        self.slots[name] = value
        self.parts.append(SlotSet(name=name, value=value))

    def _run(self, action: str) -> None:
        self.parts.append(ActionExecuted(name=action))

    def _ask(self, slot: str) -> None:
        question = QUESTIONS.get(self.stack[-1], "").format_map(self._facts()) if slot == "confirmed" else ""
        answers = [{"title": title, "payload": title} for title in ("Yes", "No")]
        self._utter(f"utter_ask_{slot}", buttons=answers if slot == "confirmed" else (), question=question)

    def _facts(self) -> dict[str, Any]:
        chosen = f"{self.slots.get('day')} {self.slots.get('time')}"
        own = {"balance": BALANCE, "chosen_time": chosen, "sent": "sent", "town": "our depot", "due": "Saturday"}
        return {**own, **ORDERS.get(self.slots.get("order_id") or "", {}), **self.slots}

    def _utter(self, name: str, buttons: Sequence[dict[str, Any]] = (), **facts: Any) -> None:
        text = RESPONSES[name].format_map({**self._facts(), **facts})
        self.parts.append(Say(text, utter_name=name, buttons=tuple(buttons)))

    # What a flow does once it has its slots.

    def _do(self) -> None:
        flow = self.flows[self.stack[-1]]
        if "payee" in flow.asks:
            self._run("action_check_payee")
        self._run(flow.action)
        slot, fact = flow.result
        if slot:
            self._set(slot, self._facts()[fact])
        self._utter(flow.response)
        self._complete(flow.action)

    def _do_verify_identity(self) -> None:
        self._run("action_verify_identity")
        slots, desk = self.slots, self.slots["desk"]
        known = {
            "shop": CUSTOMERS.get(slots.get("customer_id", "")) == slots.get("postcode", "-"),
            "bank": ACCESS_CODES.get(slots.get("client_id", "")) == slots.get("access_code", "-"),
            "clinic": PATIENTS.get(slots.get("patient_name", "")) == slots.get("birth_date", "-"),
        }
        if not known[desk]:
            return self._cancel("utter_not_verified")
        self._set("verified", True)
        self._utter("utter_verified")
        return self._complete("action_verify_identity")

    def _do_refund_order(self) -> None:
        self._run("action_check_refund_window")
        is_allowed = self._facts().get("days", 0) <= RETURN_WINDOW
        self._set("refund_allowed", is_allowed)
        if is_allowed:
            self._run("action_pay_refund")
            self._set("refund_status", "paid")
        self._utter("utter_refund_paid" if is_allowed else "utter_refund_refused")
        self._complete("action_pay_refund" if is_allowed else "action_check_refund_window")

    def _do_appointment_details(self) -> None:
        self._run("action_check_consent")
        whose = self.slots["appointment_for"]
        if whose != self.slots.get("patient_name") or whose not in APPOINTMENTS:
            return self._cancel("utter_only_to_the_patient")
        day, time, doctor = APPOINTMENTS[whose]
        self._set("appointment_time", f"{day} {time}")
        self._utter("utter_appointment", day=day, time=time, doctor=doctor)
        return self._complete("action_check_consent")
