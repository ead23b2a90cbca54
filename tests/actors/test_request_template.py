"""Templates of requests: values stay values."""

from clerkship.actors.http_bot import RequestTemplate

HOSTILE = '{{ session }} ${HOME_KEY} "}], '


def test_value_is_not_read_as_a_template_again() -> None:
    template = RequestTemplate({"a": "{{ text }}", "b": "x {{ text }} ${HOME_KEY}"}, {"HOME_KEY": "{{ text }}"})
    filled = template.fill({"text": HOSTILE, "session": "s"})
    assert filled == {"a": HOSTILE, "b": f"x {HOSTILE} {{{{ text }}}}"}


def test_value_in_an_address_is_quoted() -> None:
    template = RequestTemplate("http://host/{{ session }}/m?q={{ text }}", {})
    filled = template.fill_text({"session": "../a?b#c", "text": "a&b=c d"}, quoted=True)
    assert filled == "http://host/..%2Fa%3Fb%23c/m?q=a%26b%3Dc%20d"


def test_value_in_a_text_that_is_not_text_is_written_as_json() -> None:
    template = RequestTemplate("{{ slots }}/{{ turn }}/{{ none }}/{{ slots.a }}", {})
    assert template.fill({"slots": {"a": [1]}, "turn": 2, "none": None}) == '{"a":[1]}/2//[1]'


def test_unknown_session_is_left_out_of_maps_and_lists() -> None:
    template = RequestTemplate({"s": "{{ session }}", "l": ["{{ session }}", 1], "t": "{{ text }}"}, {})
    assert template.fill({"session": None, "text": None}) == {"l": [1], "t": None}
    assert template.fill({"session": 7, "text": "a"}) == {"s": 7, "l": [7, 1], "t": "a"}


def test_escaped_variable_of_the_environment_stays() -> None:
    template = RequestTemplate({"a": "$${KEY} ${KEY}"}, {"KEY": "k"})
    assert template.fill({}) == {"a": "${KEY} k"}
