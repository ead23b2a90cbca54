"""Templates: paths, filters and limits."""

from typing import Any

import pytest

from clerkship.suite_files.template import MAX_EXPRESSIONS, MAX_OUTPUT_LENGTH, BadTemplate, render
from clerkship.suite_files.template_filler import TemplateFiller
from tests.suite_files.library_folder import CATALOG
from tests.waiting import processor_limit

VALUES: dict[str, Any] = {
    "patient": {
        "name": "Rosa Delgado",
        "birthdate": "1965-03-15",
        "active": True,
        "weight": 61.5,
        "visits": 3,
        "middle": None,
        "odd": "A & B^C",
        "phones": ["555-0100", "555-0101"],
        "address": [{"city": "Ostrava"}],
    },
    "now": "2026-03-02T14:00:00+00:00",
    "big": "x" * 200_000,
    "many": ["x"] * 50_000,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hi {{ patient.name }}!", "Hi Rosa Delgado!"),
        ("{{patient.name}} / {{ patient.visits }}", "Rosa Delgado / 3"),
        ("<{{ patient.phones.1 }}>", "<555-0101>"),
        ("<{{ patient.phones[0] }}>", "<555-0100>"),
        ("<{{ patient.address[0].city }}>", "<Ostrava>"),
        ("<{{ patient.middle }}>", "<>"),
        ("<{{ patient.active }}>", "<true>"),
        ("<{{ patient.phones }}>", '<["555-0100","555-0101"]>'),
        ("<{{\n  patient.name\n}}>", "<Rosa Delgado>"),
        ("{{ patient.name }} and }}", "Rosa Delgado and }}"),
        ("{ {patient.name} }", "{ {patient.name} }"),
    ],
)
def test_expression_is_replaced_by_its_value(template: str, text: str) -> None:
    assert render(template, VALUES) == text


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ patient.active }}", True),
        ("{{ patient.weight }}", 61.5),
        (" {{ patient.visits }}\n", 3),
        ("{{ patient.middle }}", None),
        ("{{ patient.phones }}", ["555-0100", "555-0101"]),
        ("{{ patient.address[0] }}", {"city": "Ostrava"}),
    ],
)
def test_single_expression_keeps_the_type_of_its_value(template: str, value: object) -> None:
    found = render(template, VALUES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("patient.name | upper", "ROSA DELGADO"),
        ("patient.name|lower", "rosa delgado"),
        ("patient.name | lower | title", "Rosa Delgado"),
        ("patient.name | trim", "Rosa Delgado"),
        ("patient.middle | upper", ""),
        ("patient.phones | first", "555-0100"),
        ("patient.phones | last", "555-0101"),
        ("patient.phones | length", 2),
        ('patient.phones | join(" | ")', "555-0100 | 555-0101"),
        ("patient.phones | join('}}')", "555-0100}}555-0101"),
        ('patient.middle | default("none")', "none"),
        ("patient.middle | default(0)", 0),
        ("patient.visits | default(0)", 3),
        ("patient.birthdate | plus('1d')", "1965-03-16"),
        ("now | minus('3w') | date", "2026-02-09"),
        ("now | plus(90)", "2026-03-02T14:01:30+00:00"),
        ("now | date('%d %B %Y')", "02 March 2026"),
        ("now | hl7date", "20260302140000+0000"),
        ("patient.birthdate | hl7date", "19650315"),
        ("now | plus('1h') | hl7date", "20260302150000+0000"),
        ("patient.name | base64", "Um9zYSBEZWxnYWRv"),
        ("patient.name | base64('MRN 1')", "Um9zYSBEZWxnYWRvCk1STiAx"),
        ("patient.name | hl7", "Rosa Delgado"),
        ("patient.odd | hl7", "A \\T\\ B\\S\\C"),
    ],
)
def test_a_filter_changes_the_value(expression: str, value: object) -> None:
    assert render("{{ " + expression + " }}", VALUES, CATALOG.filter) == value


def test_templates_are_filled_in_values_but_not_in_keys() -> None:
    data = {"{{ patient.name }}": ["{{ patient.visits }}", {"a": "no. {{ patient.visits }}"}], "b": 5}
    complaints: list[Any] = []
    filler = TemplateFiller(VALUES, (), lambda *complaint: complaints.append(complaint), complaints.append)
    assert filler.fill(data, []) == {"{{ patient.name }}": [3, {"a": "no. 3"}], "b": 5}
    assert complaints == []


def test_inserted_value_is_not_a_template() -> None:
    assert render("{{ a }} {{ a }}", {"a": "{{ b }}"}) == "{{ b }} {{ b }}"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ pateint.name }}", "unknown name `pateint` in `pateint.name`; did you mean `patient`?"),
        ("{{ patient.nmae }}", "unknown name `nmae` in `patient.nmae`; did you mean `name`?"),
        ("{{ patient.phones[7] }}", "unknown name `7` in `patient.phones[7]`"),
        ("{{ nw }}", "unknown name `nw`; did you mean `now`?"),
        ("{{ patient.name | uper }}", "unknown filter `uper`; did you mean `upper`?"),
        ("{{ patient.name.__class__ }}", "unknown name `__class__` in `patient.name.__class__`"),
        ("{{ patient.name", "`{{` without `}}`"),
        ("{{ patient.name }", "`{{` without `}}`"),
        ("{{ now }} {{ patient.name", "`{{` without `}}`"),
        ("{{ }}", "there is nothing between `{{` and `}}`"),
        ("{{ patient.name | }}", "`` is not a filter"),
        ("{{ patient.name | upper lower }}", "`upper lower` is not a filter"),
        ("{{ patient.visits | length }}", "`length` cannot be applied to 3: "),
        ("{{ patient.visits | first }}", "`first` cannot be applied to 3: it is not a list"),
        ("{{ patient.name | date }}", "`date` cannot be applied to 'Rosa Delgado': it is not a date"),
        ("{{ now | plus('soon') }}", "expected a duration such as 30m"),
        ("{{ now | plus('99y') }}", "expected a duration such as 30m"),
        ("{{ '9999-12-31' | date }}", "is not an expression"),
    ],
)
def test_unknown_name_in_a_template_is_rejected_with_the_nearest(template: str, message: str) -> None:
    with pytest.raises(BadTemplate) as caught:
        render(template, VALUES)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        "{% for x in y %}{{ x }}{% endfor %}",
        "{{ 'a'*10**8 }}",
        "{{ ''.__class__ }}",
        "{{ patient.name() }}",
        "{{ range(10**9) }}",
        "{{ patient['name'] }}",
        "{{ patient.name + patient.name }}",
        "{{ patient.name if now else now }}",
        "{{ [x for x in patient] }}",
        "{{ 5 }}",
        "{{ {{ patient.name }} }}",
        "{{ patient. name }}",
        "{{ patient's name }}",
    ],
)
def test_unsupported_expression_is_rejected(template: str) -> None:
    with pytest.raises(BadTemplate, match=r"is not an expression|are not supported"):
        render(template, VALUES)


def test_output_of_a_text_is_limited() -> None:
    assert len(render("{{ big }}" * 5, VALUES)) == MAX_OUTPUT_LENGTH
    with pytest.raises(BadTemplate, match="writes more than 1,000,000 characters"):
        render("{{ big }}" * 6, VALUES)


def test_output_of_join_is_limited() -> None:
    with pytest.raises(BadTemplate, match="writes more than 1,000,000 characters"):
        render("{{ many | join('" + "y" * 500_000 + "') }}", VALUES)


def test_length_of_a_date_format_is_limited() -> None:
    with pytest.raises(BadTemplate, match="a date format may have at most 100 characters"):
        render("{{ now | date('" + "%c" * 100_000 + "') }}", VALUES)


def test_date_beyond_the_calendar_is_rejected() -> None:
    with pytest.raises(BadTemplate, match="`plus` cannot be applied to '9999-12-31'"):
        render("{{ a | plus('30d') }}", {"a": "9999-12-31"})


def test_number_of_expressions_is_limited() -> None:
    assert render("{{ n }}" * MAX_EXPRESSIONS, {"n": 1}) == "1" * MAX_EXPRESSIONS
    with pytest.raises(BadTemplate, match="more than 10,000 expressions"):
        render("{{ n }}" * (MAX_EXPRESSIONS + 1), {"n": 1})


def test_number_of_filters_is_limited() -> None:
    with pytest.raises(BadTemplate, match="more than 20 filters"):
        render("{{ big" + " | upper" * 100_000 + " }}", VALUES)


MB = 1_000_000
HOSTILE = {
    "opening braces": lambda: "{{" * (MB // 2),
    "single braces": lambda: "{ " * (MB // 2),
    "opened, never closed": lambda: "{{ a }" * (MB // 6),
    "opened quotes": lambda: "{{ '" * (MB // 4),
    "quotes": lambda: "{{ now | join(" + '"' * MB,
    "quotes across expressions": lambda: "{{ now | join('}}" * (MB // 17),
    "spaces in a filter": lambda: "{{ now | date(" + " " * MB + "x }}",
    "spaces after a name": lambda: "{{ now" + " " * MB + "x }}",
    "pipes": lambda: "{{ now " + "|" * MB + " }}",
    "dots": lambda: "{{ now" + ".a" * (MB // 2) + " }}",
    "an index": lambda: "{{ patient.phones[" + "9" * MB + "] }}",
    "a name": lambda: "{{ " + "a" * MB + " }}",
    "a filter's name": lambda: "{{ now | " + "a" * MB + " }}",
    "closing braces": lambda: "{{ now " + "}" * MB,
    "statements": lambda: "{%" * (MB // 2),
}


@pytest.mark.parametrize("form", HOSTILE)
def test_hostile_megabyte_is_rejected_with_a_short_message(form: str) -> None:
    try:
        with processor_limit():
            render(HOSTILE[form](), VALUES)
    except BadTemplate as bad:
        assert len(str(bad)) < 300  # noqa: PT017  (some forms are harmless text)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{{ "{{" }}', "{{"),
        (' {{ "{{" }} ', " {{ "),
        ("{{ '{%' }} if }}", "{% if }}"),
        ('{{ "{{ patient.name }}" }} is {{ patient.name }}', "{{ patient.name }} is Rosa Delgado"),
        ('{{ "" }}', ""),
    ],
)
def test_quoted_text_in_braces_is_literal(template: str, text: str) -> None:
    assert render(template, VALUES) == text


def test_variable_in_a_filter_argument_is_rejected() -> None:
    with pytest.raises(BadTemplate, match="not replaced in the argument"):
        render('{{ patient.middle | default("${HOME}") }}', VALUES)
