"""An order-support bot with flows, in plain Python. It tells what it does inside itself beside what it says.

clerkship run eval --agent python:bot:OrderBot     in this folder

A flow asks for the slots it needs, then runs its action. One may be called off in the middle, or put aside for another.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Order:
    """What the shop knows of an order."""

    account: str
    item: str
    status: str
    due: str
    reason: str = ""
    parcel: tuple[str, float, float] | None = None  # the town it is in, and where that is


ORDERS = {
    "ORD-9981": Order(
        "12345", "desk lamp", "delayed", "on Friday", "a storm closed the depot", ("Leipzig", 51.34, 12.37)
    ),
    "ORD-7702": Order("12345", "bookshelf", "shipped", "tomorrow", parcel=("Hanover", 52.37, 9.73)),
    "ORD-1155": Order("12345", "tea kettle", "in preparation", "on Monday"),
    "ORD-4000": Order("67890", "garden chair", "shipped", "today", parcel=("Bremen", 53.08, 8.81)),
}
PINS = {"12345": "4711", "67890": "2580"}
ARTICLES = {
    r"return|send .* back": "Articles can be returned within 30 days of delivery, unused and in their box.",
    r"refund|money back": "A refund is paid to the card that was used, within five working days of the return.",
    r"shipping cost|delivery fee": "Delivery is free from 50 euros; below that it costs 4.90 euros.",
}


@dataclass(frozen=True)
class Flow:
    """What it is called, the words that mean it, the slots it asks for in turn, and what it then does."""

    name: str
    words: str
    asks: tuple[str, ...]
    action: str
    needs_login: bool = True


FLOWS = {
    "verify_identity": Flow(
        "log in",
        r"log (me )?in|identify|another account",
        ("account_id", "pin"),
        "action_verify_account",
        needs_login=False,
    ),
    "check_order_status": Flow(
        "check an order", r"check|status|late\b|delay|where|arrived", ("order_id",), "action_check_order_status"
    ),
    "track_shipment": Flow("track a parcel", r"track|parcel|where|arrived", ("order_id",), "action_track_shipment"),
    "change_address": Flow(
        "change an address",
        r"address|change (my|the) order",
        ("order_id", "new_address", "confirmed"),
        "action_change_address",
    ),
    "cancel_order": Flow(
        "cancel an order",
        r"cancel (an|my|the|ord)|change (my|the) order",
        ("order_id", "confirmed"),
        "action_cancel_order",
    ),
}
ABOUT_ORDERS = [flow for flow, known in FLOWS.items() if "order_id" in known.asks]
STOP = re.compile(r"(?i)never ?mind|forget it|\bstop\b")
ORDER = re.compile(r"(?i)\bORD-\d{4}\b")
PRESSED = re.compile(r"/(start_flow|SetSlots)\((.*)\)")
FORMS = {
    "account_id": re.compile(r"\b\d{5}\b"),
    "pin": re.compile(r"(?<![\w-])\d{4}\b"),
    "order_id": ORDER,
    "new_address": re.compile(r"(?i)^(?!.*ORD-)(?=.*\d)(?=.*[a-z]).+$"),
    "confirmed": re.compile(r"(?i)^(yes|no)\b"),
}
FORGOTTEN = ("pin", "new_address", "confirmed")  # when a flow ends; an order is remembered

RESPONSES = {
    "utter_greet": "Hello, this is the order desk.\n\nI can check, track, change or cancel an order.",
    "utter_dont_know": "I am sorry, I cannot help with that.",
    "utter_ask_account_id": "What is your account number?",
    "utter_ask_pin": "And your PIN?",
    "utter_ask_order_id": "Which order is it? It begins with ORD.",
    "utter_ask_new_address": "What is the new address?",
    "utter_ask_confirmed": "Shall I do that for order {order_id}?",
    "utter_verified": "Thank you, you are logged in.",
    "utter_wrong_pin": "That account and PIN do not go together.",
    "utter_flow_cancelled": "All right, I have stopped that.",
    "utter_left_as_it_is": "Then I leave order {order_id} as it is.",
    "utter_order_unknown": "I cannot find that order under your account.",
    "utter_order_delayed": "I am sorry, order {order_id} is delayed.",
    "utter_order_status_details": "Your {item} is {status}{because}.{coming}",
    "utter_not_shipped": "Your {item} has not left us yet.",
    "utter_parcel": "Your {item} is in {town}.",
    "utter_address_changed": "Order {order_id} will go to {new_address}.",
    "utter_order_cancelled": "Order {order_id} is cancelled.",
    "utter_too_late": "Order {order_id} has been sent, so it is too late for that.",
    "utter_clarification_options_rasa": "I am not sure what you mean. Would you like to…",
}


class OrderBot:
    """One conversation with it."""

    def __init__(self) -> None:
        self.slots: dict[str, Any] = {}
        self.stubs: Mapping[str, Any] = {}
        self.orders = dict(ORDERS)
        self.stack: list[str] = []  # flows under way; the last is the one that is talked about
        self.wanted: str | None = None  # what to go on with after logging in
        self.told: list[ReplyPart] = []

    def on_start(self, start: Start) -> list[ReplyPart]:
        """What the scenario holds true is true here."""
        self.slots.update(start.slots)
        self.stubs = start.stubs
        return []

    def on_turn(self, message: Message) -> list[ReplyPart]:
        """What it did and said, in that order."""
        self.told = []
        self._hear(message.text.strip())
        return self.told

    # What was meant.

    def _hear(self, text: str) -> None:
        pressed = PRESSED.fullmatch(text)
        if pressed:
            self._press(pressed[1], pressed[2])
        elif self.stack and STOP.search(text):
            self._call_off()
        elif self._fill(text):
            self._go_on()
        else:
            self._find(text)

    def _press(self, command: str, argument: str) -> None:
        if command == "start_flow" and argument in FLOWS:
            self._start(argument)
        elif command == "SetSlots" and self.stack:
            name, _, value = argument.partition("=")
            if name == self._asked():  # anybody can type what a button sends: only what was asked for is taken
                self._set(name, {"true": True, "false": False}.get(value, value))
            self._go_on()
        else:
            self._utter("utter_dont_know")

    def _fill(self, text: str) -> bool:
        """Whether it is what the flow has asked for."""
        asked = self._asked()
        found = FORMS[asked].search(text) if asked else None
        if not asked or not found:
            return False
        said: dict[str, Any] = {"confirmed": found[0].lower() == "yes", "order_id": found[0].upper()}
        self._set(asked, said.get(asked, found[0].strip()))
        return True

    def _find(self, text: str) -> None:
        order = ORDER.search(text)
        if order:
            self._set("order_id", order[0].upper())
        meant = [flow for flow, known in FLOWS.items() if re.search(known.words, text, re.IGNORECASE)]
        meant = meant or (ABOUT_ORDERS if order else [])
        article = next((article for words, article in ARTICLES.items() if re.search(words, text, re.IGNORECASE)), None)
        if article is not None:
            self._answer(article)
        elif len(meant) == 1:
            self._start(meant[0])
        elif meant:
            self._clarify(meant)
        else:
            self._utter("utter_greet" if re.search(r"(?i)\b(hello|hi|good morning)\b", text) else "utter_dont_know")
            self._ask_again()

    # Flows.

    def _start(self, flow: str) -> None:
        if self.stack and self.stack[-1] == flow:
            return self._go_on()
        if self.stack:
            self.told.append(FlowInterrupted(flow_id=self.stack[-1], flow_step_id=self._step()))
        if FLOWS[flow].needs_login and not self.slots.get("authenticated"):
            self.wanted, flow = flow, "verify_identity"
        self.stack = [other for other in self.stack if other != flow] + [flow]
        self.told.append(FlowStarted(flow_id=flow))
        return self._go_on()

    def _go_on(self) -> None:
        """Ask for the next slot, or do what the flow is for."""
        asked = self._asked()
        if asked:
            return self._ask(asked)
        flow = self.stack[-1]
        if self.slots.get("confirmed") is False:
            self._utter("utter_left_as_it_is")
            return self._end(FlowCompleted(flow_id=flow, flow_step_id="declined"))
        self._run(FLOWS[flow].action)
        if flow == "verify_identity" and not self.slots.get("authenticated"):
            self.wanted = None
            return self._end(FlowCancelled(flow_id=flow, flow_step_id=FLOWS[flow].action))
        return self._end(FlowCompleted(flow_id=flow, flow_step_id=FLOWS[flow].action))

    def _call_off(self) -> None:
        self.wanted = None
        self._end(FlowCancelled(flow_id=self.stack[-1], flow_step_id=self._step()), "utter_flow_cancelled")

    def _end(self, ending: FlowCompleted | FlowCancelled, response: str = "") -> None:
        self.stack.pop()
        self.told.append(ending)
        if response:
            self._utter(response)
        for name in FORGOTTEN:
            if self.slots.get(name) is not None:
                self._set(name, None)
        wanted, self.wanted = self.wanted, None
        if wanted and wanted not in self.stack:
            self._start(wanted)
        else:
            self._resume()

    def _resume(self) -> None:
        if self.stack:
            self.told.append(FlowResumed(flow_id=self.stack[-1], flow_step_id=self._step()))
            self._go_on()

    def _answer(self, article: str) -> None:
        """A question about the shop, from what is written about it, whatever flow is under way."""
        if self.stack:
            self.told.append(FlowInterrupted(flow_id=self.stack[-1], flow_step_id=self._step()))
        self.told += [FlowStarted(flow_id="pattern_search"), ActionExecuted(name="action_trigger_search")]
        self.told.append(Say(article, metadata={"utter_source": "EnterpriseSearchPolicy", "search_results": [article]}))
        self.told.append(FlowCompleted(flow_id="pattern_search", flow_step_id="action_trigger_search"))
        self._resume()

    def _clarify(self, flows: list[str]) -> None:
        names = [FLOWS[flow].name for flow in flows]
        self.told.append(FlowStarted(flow_id="pattern_clarification"))
        self.told.append(ClarificationOffered(flow_ids=tuple(flows), names=tuple(names)))
        self.told.append(ActionExecuted(name="action_clarify_flows"))
        titles = [(name.capitalize(), f"/start_flow({flow})") for flow, name in zip(flows, names, strict=True)]
        self._utter("utter_clarification_options_rasa", buttons=titles)
        ended = FlowCompleted(flow_id="pattern_clarification", flow_step_id="utter_clarification_options_rasa")
        self.told.append(ended)

    # Slots, words, deeds.

    def _asked(self) -> str | None:
        """The slot that the flow waits for."""
        asks = FLOWS[self.stack[-1]].asks if self.stack else ()
        return next((slot for slot in asks if self.slots.get(slot) is None), None)

    def _step(self) -> str | None:
        asked = self._asked()
        return f"ask_{asked}" if asked else None

    def _ask(self, slot: str) -> None:
        answers = [("Yes", "/SetSlots(confirmed=true)"), ("No", "/SetSlots(confirmed=false)")]
        self._utter(f"utter_ask_{slot}", buttons=answers if slot == "confirmed" else ())

    def _ask_again(self) -> None:
        asked = self._asked()
        if asked:
            self._ask(asked)

    def _set(self, name: str, value: Any) -> None:
        self.slots[name] = value
        self.told.append(SlotSet(name=name, value=value))

    def _utter(self, name: str, buttons: Sequence[tuple[str, str]] = ()) -> None:
        """A response by its name is an action of its own."""
        self.told.append(ActionExecuted(name=name))
        self._say(name, buttons=tuple({"title": title, "payload": payload} for title, payload in buttons))

    def _say(self, name: str, facts: Mapping[str, Any] | None = None, **extra: Any) -> None:
        text = RESPONSES[name].format_map({**self.slots, **(facts or {})})
        self.told.append(Say(text, utter_name=name, **extra))

    def _run(self, action: str) -> None:
        self.told.append(ActionExecuted(name=action))
        stub = self.stubs.get(action)
        if stub is None:
            getattr(self, action)()
        else:
            self._play(stub)

    def _play(self, stub: Mapping[str, Any]) -> None:
        """What a test wants to have come of an action."""
        for event in stub.get("events") or ():
            if event.get("event") == "slot":
                self._set(event["name"], event.get("value"))
        for response in stub.get("responses") or ():
            buttons = tuple(response.get("buttons") or ())
            self.told.append(Say(response.get("text") or "", buttons=buttons, custom=response.get("custom")))

    # Actions.

    def action_verify_account(self) -> None:
        """The PIN fits the account, or does not."""
        good = PINS.get(self.slots["account_id"]) == self.slots["pin"]
        self._set("authenticated", good)
        if not good:
            self._set("account_id", None)
        self._say("utter_verified" if good else "utter_wrong_pin")

    def action_check_order_status(self) -> None:
        """Look the order up, and say how it is, the delay first."""
        order = self._order()
        if order is None:
            return
        self._set("order_status", order.status)
        if order.status == "delayed":
            self._say("utter_order_delayed")
        because = f" because {order.reason}" if order.reason else ""
        facts = {**vars(order), "because": because, "coming": f" It comes {order.due}." if order.due else ""}
        truth = [
            f"{self.slots['order_id']}: {order.item}, {order.status}, due {order.due}, {order.reason}".rstrip(", ")
        ]
        source = {"utter_source": "ContextualResponseRephraser", "domain_ground_truth": truth}
        self._say("utter_order_status_details", facts, metadata=source)

    def action_track_shipment(self) -> None:
        """Where the parcel is, with a map for whoever can draw one."""
        order = self._order()
        if order is not None and order.parcel is None:
            self._say("utter_not_shipped", vars(order))
        elif order is not None and order.parcel is not None:
            town, north, east = order.parcel
            spot = {"type": "map", "title": town, "latitude": north, "longitude": east}
            self._say("utter_parcel", {"item": order.item, "town": town}, custom=spot)

    def action_change_address(self) -> None:
        """Send it elsewhere, while it is still here."""
        order = self._order()
        if order is not None:
            self._say("utter_address_changed" if order.parcel is None else "utter_too_late")

    def action_cancel_order(self) -> None:
        """Call it off, while it is still here."""
        order = self._order()
        if order is None:
            return
        if order.parcel is None:
            self.orders[self.slots["order_id"]] = replace(order, status="cancelled", due="", reason="")
            self._set("order_status", "cancelled")
        self._say("utter_order_cancelled" if order.parcel is None else "utter_too_late")

    def _order(self) -> Order | None:
        """The order, if it is this person's; whose it is otherwise is not said."""
        order = self.orders.get(self.slots["order_id"])
        if order is not None and order.account == self.slots.get("account_id"):
            return order
        self._say("utter_order_unknown")
        self._set("order_id", None)
        return None
