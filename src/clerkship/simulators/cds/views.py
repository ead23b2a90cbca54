"""Hooks and services as JSON for the agent."""

from typing import Any

from clerkship.simulators.cds.records import ServiceCall, TriggeredHook


def show_hook(hook: TriggeredHook) -> dict[str, Any]:
    """Return a hook with its calls."""
    return {
        "hookInstance": hook.instance,
        "hook": hook.hook,
        "at": hook.at.isoformat(),
        "context": hook.context,
        "calls": [_show_call(call) for call in hook.calls or ()],
    }


def _show_call(call: ServiceCall) -> dict[str, Any]:
    return {
        "service": call.service.id,
        "status": call.status,
        "failure": call.failure or None,
        "httpStatus": call.http_status,
        "cards": [card.to_wire() for card in call.cards],
        "systemActions": [action.to_wire() for action in call.system_actions],
        "problems": [problem.model_dump() for problem in call.problems],
        "decisions": [
            {"card": each.card, "outcome": each.outcome, "suggestions": list(each.suggestions)} for each in call.decided
        ],
    }
