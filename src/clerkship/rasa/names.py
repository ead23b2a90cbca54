"""What is Rasa's own: the files of its projects, and the names every one of its agents has without saying so."""

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


def is_project_file(path: Path, keys: set[str]) -> bool:
    """Return whether a file with these top-level keys, none of them the library's own, belongs to a Rasa project."""
    return path.stem in _FILE_NAMES or (bool(keys) and keys <= _FILE_KEYS)


def is_built_in(sort: str, name: str) -> bool:
    """Return whether every Rasa agent has an action, a response or a flow of this name."""
    if sort == "flow":
        return name.startswith(FLOWS)
    return name in RESPONSES or (sort == "action" and name in ACTIONS)
