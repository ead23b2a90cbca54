"""Sets as JSON."""

import orjson

from clerkship.formats.x12.json_view import to_key, view_set
from tests.formats.x12.answers import claim_status_answer_set, eligibility_answer_set, rejection_set
from tests.formats.x12.messages import eligibility_set, transaction_set
from tests.formats.x12.validated import replace_segment, validate_text


def test_the_view_names_the_set_and_keeps_its_segments_in_order() -> None:
    text = eligibility_answer_set("EB*R**30", "LS*2120", "NM1*PR*2*OTHER PAYER*****PI*OTH01", "LE*2120")
    view = view_set(validate_text(text))
    assert list(view) == ["transaction", "name", "control_number", "version", "content", "errors", "segments"]
    assert (view["transaction"], view["name"], view["control_number"]) == ("271", "eligibility answer", "0001")
    assert view["segments"] == text.rstrip("~").split("~")
    assert view["errors"] == []


def test_elements_have_labels_and_codes_have_meanings() -> None:
    view = view_set(validate_text(eligibility_answer_set()))
    subscriber = view["content"]["information_source"][0]["information_receiver"][0]["subscriber"][0]
    assert subscriber["loop"] == "2000C"
    assert subscriber["trace_number"][0]["trace_number"] == "T270A"
    name = subscriber["subscriber"]["name"]
    assert name["entity"] == {"code": "IL", "meaning": "insured"}
    assert (name["last_or_organization_name"], name["id"]) == ("OKAFOR", "SM70010")
    benefits = subscriber["subscriber"]["benefit"]
    assert [benefit["benefit"]["information"]["meaning"] for benefit in benefits] == [
        *("active coverage", "deductible", "copay", "coinsurance", "limit"),
    ]
    assert benefits[2]["benefit"]["service_type"] == [
        {"code": "98", "meaning": "office visit"},
        {"code": "UC", "meaning": "urgent care"},
    ]
    assert benefits[2]["benefit"]["amount"] == "25"


def test_components_have_labels_and_the_codes_of_statuses_have_meanings() -> None:
    view = view_set(validate_text(claim_status_answer_set()))
    source = view["content"]["information_source"][0]
    provider = source["information_receiver"][0]["service_provider"][0]
    claim = provider["subscriber"][0]["claim"][0]
    assert claim["claim_status"][0]["status"] == {
        "category": {"code": "F1", "meaning": "paid"},
        "status": {"code": "65", "meaning": "paid"},
    }
    assert claim["payer_s_claim_number"]["reference"] == "SMC451"


def test_a_key_is_a_list_by_the_grammar_even_with_one_value() -> None:
    view = view_set(validate_text(eligibility_set()))
    subscriber = view["content"]["information_source"][0]["information_receiver"][0]["subscriber"][0]["subscriber"]
    assert subscriber["inquiry"][0]["inquiry"]["service_type"] == [
        {"code": "30", "meaning": "health benefit plan coverage"},
    ]
    assert subscriber["date"][0]["date"] == "20261115"


def test_a_code_without_a_name_in_the_tables_has_no_meaning() -> None:
    view = view_set(validate_text(eligibility_set(service_types="ZZ")))
    subscriber = view["content"]["information_source"][0]["information_receiver"][0]["subscriber"][0]["subscriber"]
    assert subscriber["inquiry"][0]["inquiry"]["service_type"] == [{"code": "ZZ"}]


def test_errors_and_segments_that_fit_nowhere_are_in_the_view() -> None:
    text = replace_segment(eligibility_set(), "EQ*30", "EQ*30", "QQQ*1*2", "DTP*291*D8*20260230")
    view = view_set(validate_text(text))
    assert [(error["segment"], error["position"], error["code"]) for error in view["errors"]] == [
        ("QQQ", 13, "1"),
        ("DTP", 14, "8"),
    ]
    assert view["errors"][1]["elements"][0]["code"] == "8"
    assert view["errors"][1]["trace"] == "T270A"
    subscriber = view["content"]["information_source"][0]["information_receiver"][0]["subscriber"][0]["subscriber"]
    assert subscriber["inquiry"][0]["other_segments"] == [{"segment": "QQQ", "elements": ["1", "2"]}]


def test_segments_over_the_limit_are_in_the_view() -> None:
    text = replace_segment(eligibility_set(), "HL*1**20*1", "BHT*0022*13*T*20261115*0900", "HL*1**20*1")
    view = view_set(validate_text(text))
    assert view["content"]["beginning_of_the_transaction"]["reference"] == "T270A"
    assert view["content"]["beginning_of_the_transaction_over_limit"][0]["reference"] == "T"


def test_a_set_that_is_not_supported_is_shown_by_its_segments() -> None:
    view = view_set(validate_text(transaction_set("835", "", ["BPR*I*180"])))
    assert (view["transaction"], view["name"]) == ("835", "remittance advice")
    assert view["content"]["other_segments"][1] == {"segment": "BPR", "elements": ["I", "180"]}


def test_the_view_is_json_and_the_same_each_time() -> None:
    text = rejection_set()
    first, second = (orjson.dumps(view_set(validate_text(text))) for _ in range(2))
    assert first == second


def test_labels_become_keys() -> None:
    assert to_key("city, state and postal code") == "city_state_and_postal_code"
    assert to_key("Medicare plan") == "medicare_plan"
