"""Checks before a run: against a given domain, the project's domain, or the agent's capabilities."""

from pathlib import Path

import pytest

from clerkship.actors.contract import Agent, Message
from clerkship.actors.nop import Nop
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.agent_domain import AgentCapabilities, AgentDomain
from clerkship.model.errors import InputError
from clerkship.service.checking import Validation, ValidationRequest, validate
from clerkship.service.planning.plan import RunPlan, plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from tests.actors.models import model_at
from tests.actors.servers import Served
from tests.suite_files.library_folder import LibraryFolder

CATALOG = RegisteredCatalog()
SCENARIO = """\
setup: {initial_slots: {order_id: x}, person: {opening: Hi}}
goals: {assertions: [{sequencing: [{flow_started: check_order}]}]}
"""
OURS = AgentDomain(source="the shop's server", slots={"order_id": "text"})


class DescribingAgent:
    """An agent that describes itself, and counts how often it is asked."""

    name = "connected"

    def __init__(self, capabilities: AgentCapabilities | None) -> None:
        self._abilities = capabilities
        self.asked = 0

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        return Nop().open(solution, trial)

    def capabilities(self) -> AgentCapabilities:
        self.asked += 1
        if self._abilities is None:
            raise InputError.of("http://localhost:1 does not answer", hint="is it up?")
        return self._abilities


@pytest.fixture
def shop(tmp_path: Path) -> LibraryFolder:
    """A project with a scenario."""
    shelf = LibraryFolder(tmp_path)
    shelf.scenario(SCENARIO)
    return shelf


def validate_shop(shop: LibraryFolder, **how: object) -> Validation:
    """Validate the `eval` folder."""
    request = ValidationRequest(path=shop.root / "eval", **how)  # type: ignore[arg-type]
    return validate(request, Settings(), CATALOG)


def plan_shop(shop: LibraryFolder, agent: object, **how: object) -> RunPlan:
    """Plan a run of the `eval` folder."""
    request = RunRequest(path=shop.root / "eval", agent=agent, **how)  # type: ignore[arg-type]
    return plan_run(request, Settings(), CATALOG)


def list_messages(validation: Validation) -> list[str]:
    """Return the messages of problems, then of warnings."""
    return [problem.message for problem in (*validation.problems, *validation.warnings)]


def test_given_domain_takes_precedence_over_the_agents_and_the_projects(shop: LibraryFolder) -> None:
    shop.write("domain.yml", "slots: {order_id: {type: list}}")
    given = shop.write("other.yml", "slots: {order_id: {type: float}}")
    agent = DescribingAgent(AgentCapabilities(engine="E", domain=OURS))
    assert "expected a list" in list_messages(validate_shop(shop))[0]
    assert "expected a list" in list_messages(validate_shop(shop, agent="nop"))[0]
    assert list_messages(validate_shop(shop, agent=agent)) == []
    assert "expected a number" in list_messages(validate_shop(shop, agent=agent, domain=given))[0]
    assert (
        "expected a list" in list_messages(validate_shop(shop, agent=DescribingAgent(AgentCapabilities(engine="E"))))[0]
    )
    found = validate_shop(shop, agent=agent).library
    assert found is not None
    assert found.domain == "the shop's server"


def test_agent_capabilities_are_read_once_and_missing_ones_are_warned_about(shop: LibraryFolder) -> None:
    agent = DescribingAgent(
        AgentCapabilities(engine="Rasa 3.6 (open source)", domain=OURS, emits=frozenset({"agent.slot.set"}))
    )
    plan = plan_shop(shop, agent)
    assert agent.asked == 1
    assert [warning.message for warning in plan.warnings] == ["`sequencing`: Rasa 3.6 (open source) reports no flows"]
    assert plan.warnings[0].location() == f"{shop.root}/eval/scenarios/one.yml:5:53"
    assert (plan.domain, plan.run.options) == ("the shop's server", ())


def test_unknown_slot_stops_a_run_before_it_starts(shop: LibraryFolder) -> None:
    agent = DescribingAgent(AgentCapabilities(engine="E", domain=AgentDomain(source="it", slots={"order": "text"})))
    with pytest.raises(InputError, match="no slot `order_id` in it; did you mean `order`"):
        plan_shop(shop, agent)


def test_unreachable_agent_is_reported_with_mistakes_in_files(shop: LibraryFolder) -> None:
    shop.write("eval/scenarios/two.yml", "scenario: {}")
    shop.write("domain.yml", "slots: {order: {type: text}}")
    said = list_messages(validate_shop(shop, agent=DescribingAgent(None)))
    assert said == [
        "no slot `order_id` in " + str(shop.root / "domain.yml"),
        "`name` is missing",
        "`simulation_context` is missing",
        "http://localhost:1 does not answer",
    ]


def test_mistakes_in_a_domain_are_reported_with_those_in_files(shop: LibraryFolder) -> None:
    shop.write("domain.yml", "slots: {a: text, b: bool}")
    shop.write("eval/scenarios/two.yml", "scenario: {name: A}")
    validation = validate_shop(shop)
    assert [Path(problem.file).name for problem in validation.problems] == ["two.yml", "domain.yml", "domain.yml"]
    assert validation.exit_code() == 2
    assert "there is no such domain" in list_messages(validate_shop(shop, domain=shop.root / "nowhere.yml"))[-1]


def test_warnings_concern_selected_tasks_and_do_not_change_the_exit_code(shop: LibraryFolder) -> None:
    shop.write("domain.yml", "slots: {order_id: {type: text}}\nflows: {chek_order: {}}")
    shop.scenario(SCENARIO.replace("check_order", "pay"), "eval/scenarios/two.yml")
    validation = validate_shop(shop)
    assert (len(validation.warnings), validation.exit_code()) == (2, 0)
    only = validate(ValidationRequest(path=shop.root / "eval/scenarios/two.yml"), Settings(), CATALOG)
    assert [Path(warning.file).name for warning in only.warnings] == ["two.yml"]
    plan = plan_shop(shop, "nop", tasks=("one",), domain=shop.root / "domain.yml")
    assert [Path(warning.file).name for warning in plan.warnings] == ["one.yml"]
    assert plan.run.options == ("--task", "one", "--domain", str(shop.root / "domain.yml"))


def test_agent_that_cannot_be_built_is_reported_with_mistakes_in_files(shop: LibraryFolder) -> None:
    shop.write("eval/scenarios/two.yml", "scenario: {name: A}")
    with pytest.raises(InputError) as caught:
        plan_shop(shop, "magic")
    assert [p.message for p in caught.value.problems] == ["`simulation_context` is missing", "unknown agent `magic`"]


class TextOnlyAgent:
    """A Python agent that declares that it reports no events."""

    reported_events: tuple[str, ...] = ()

    def on_turn(self, message: Message) -> str:
        return "All right."


def test_openai_agent_is_warned_about_if_flows_are_checked(shop: LibraryFolder) -> None:
    with Served(lambda asked: (200, {}, b"{}")) as there:
        plan = plan_shop(shop, model_at(f"{there.url}/v1", "small"))
    said = [warning.message for warning in plan.warnings]
    assert "`sequencing`: a model behind `openai:` (small) reports no flows" in said
    assert plan.warnings[0].location() == f"{shop.root}/eval/scenarios/one.yml:5:53"


def test_python_agent_can_declare_the_events_it_reports(shop: LibraryFolder) -> None:
    def said(agent: type) -> list[str]:
        plan = plan_shop(shop, PythonSolver("agent", agent))
        return [warning.message for warning in plan.warnings if "reports no" in warning.message]

    class Flows(TextOnlyAgent):
        reported_events = ("agent.flow.started",)

    class Unknown(TextOnlyAgent):
        reported_events = None  # type: ignore[assignment]

    assert said(TextOnlyAgent) == ["`sequencing`: agent reports no flows"]
    assert said(Flows) == said(Unknown) == []


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (["agent.flow.begun"], "unknown event kind `agent.flow.begun` in `reported_events`"),
        ("agent.flow.started", "`reported_events` is not a list"),
    ],
)
def test_declaration_of_an_unknown_event_stops_a_run(shop: LibraryFolder, declared: object, message: str) -> None:
    class Wrong(TextOnlyAgent):
        reported_events = declared  # type: ignore[assignment]

    with pytest.raises(InputError, match=message):
        plan_shop(shop, PythonSolver("agent", Wrong))


def test_config_of_a_domain_is_checked_against_the_records_of_its_datasets(tmp_path: Path) -> None:
    folder = LibraryFolder(tmp_path)
    claim = "{number: C1, payer: CM002, member_id: CM0, provider_id: '1', charge: 5, start: 2026-01-05"
    claim += ", received: 2026-01-08}"
    payer = f"{{kind: payer, config: {{claims: [{claim}]}}}}"
    folder.write("office.yml", f"environment: {{name: office, datasets: [clinic-100], domains: {{payer: {payer}}}}}\n")
    folder.write("t.yml", "task: {name: T, environment: office}\n")
    validation = validate(ValidationRequest(path=folder.root), Settings(), CATALOG)
    [problem] = validation.problems
    assert problem.file == str(folder.root)
    assert problem.message.startswith("environment office, domain payer: ")
    assert problem.message.endswith("claims: C1 is for CM002/CM0/0, who is not a member")
