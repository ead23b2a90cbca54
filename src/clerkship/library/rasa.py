"""What is Rasa's own: the files of its projects, and the names every one of its agents has without saying so."""

import re
from pathlib import Path

DOMAIN_KEYS = frozenset(
    ("slots", "actions", "responses", "forms", "intents", "entities", "e2e_actions", "session_config")
)
"""What a domain is made of."""
_FILE_KEYS = DOMAIN_KEYS.union(
    ("version", "language", "additional_languages", "recipe", "assistant_id", "pipeline", "policies", "importers"),
    ("spaces", "nlu", "rules", "stories", "flows"),
    ("test_results", "agent", "configuration", "info", "connections"),  # results of its tests, its sub-agents
)
_FILE_NAMES = ("credentials", "endpoints", "docker-compose")
OURS = frozenset(
    ("task", "tasks", "scenario", "environment", "environments", "dataset", "datasets", "benchmark", "benchmarks"),
) | {"persona", "personas", "test_cases", "fixtures", "metadata", "stub_custom_actions", "simulation", "evaluation"}
"""What makes a file one to be read, whatever it is called."""
_MOST_BYTES = 50_000_000
_TOP_KEY = re.compile(rb"""^["']?([A-Za-z_][A-Za-z0-9_-]*)["']?[ \t]*:(?:[ \t\r]|$)""", re.MULTILINE)

SLOTS = {
    "requested_slot": "text",
    "session_started_metadata": "any",
    "return_value": "any",
    "flow_hashes": "any",
    "dialogue_stack": "any",
    "context": "any",
    "language": "text",
    "mocked_datetime": "text",
    "route_session_to_calm": "bool",
    "silence_timeout": "float",
    "consecutive_silence_timeouts": "float",
    "max_clarification_options": "float",
    "confirm_correction": "bool",
    "continue_conversation": "bool",
    "continue_interrupted_flow_confirmation": "bool",
    "interrupted_flow_to_continue": "text",
    "csat_score": "text",
    "knowledge_base_listed_objects": "any",
    "knowledge_base_last_object": "any",
    "knowledge_base_last_object_type": "any",
}
"""Slots with their types, from the engine and from its default patterns."""
ACTIONS = frozenset(
    f"action_{name}"
    for name in (
        *("listen", "restart", "session_start", "default_fallback", "deactivate_loop", "revert_fallback_events"),
        *("default_ask_affirmation", "default_ask_rephrase", "two_stage_fallback", "unlikely_intent", "back"),
        *("send_text", "extract_slots", "validate_slot_mappings", "cancel_flow", "correct_flow_slot"),
        *("clarify_flows", "run_slot_rejections", "clean_stack", "trigger_search", "trigger_chitchat", "trigger_flow"),
        *("reset_routing", "hangup", "repeat_bot_messages", "continue_interrupted_flow", "cancel_interrupted_flows"),
        *("agent_request_user_input", "query_knowledge_base", "handoff_metric", "human_handoff"),
    )
)
RESPONSES = frozenset(
    f"utter_{name}"
    for name in (
        *("ask_rephrase", "ask_still_there", "boolean_slot_rejection", "can_do_something_else", "cannot_handle"),
        *("categorical_slot_rejection", "clarification_no_options_rasa", "clarification_options_rasa"),
        *("closing_words", "corrected_previous_input", "csat_thank_you_satisfied", "csat_thank_you_unsatisfied"),
        *("float_slot_rejection", "flow_cancelled_rasa", "flow_continue_interrupted", "free_chitchat_response"),
        *("human_handoff_not_available", "inform_code_change", "inform_hangup", "internal_error_rasa"),
        *("no_knowledge_base", "no_relevant_answer_found", "skip_question_answer", "restart", "default"),
        *("user_input_empty_error_rasa", "user_input_too_long_error_rasa"),
        *("ask_continue_conversation", "ask_csat_score", "ask_confirm_correction", "ask_interrupted_flow_to_continue"),
        *("ask_continue_interrupted_flow_confirmation",),
    )
)
FLOWS = "pattern_"
"""How the names of the engine's own flows begin."""


def top_keys(path: Path) -> set[str]:
    """The keys a file's text begins its lines with: seen without parsing it, so that another's flaws do not matter."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return set()
        return {key.decode() for key in _TOP_KEY.findall(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))}
    except OSError:
        return set()


def is_of_a_project(path: Path) -> bool:
    """Whether a file is one of a Rasa project's own, and nothing for us to read."""
    keys = top_keys(path)
    if path.stem in _FILE_NAMES and not keys & OURS:
        return True
    return bool(keys) and keys <= _FILE_KEYS
