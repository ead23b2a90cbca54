"""Other correct ways for the tasks on decision support of `suites/messages`, and changes to their solutions."""

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID

from clerkship.sandbox.overrides import override_methods
from clerkship.simulators.cds.handle import describe_service
from clerkship.simulators.cds.serving import ServedService
from tests.suites.messages_ways import MESSAGES
from tests.suites.overridden_solutions import Agent, Verb, call_twice, load_solution

Json = dict[str, Any]
ChangeAnswer = Callable[[Json, list[Json]], Any]
"""Called with a hook request and the cards of the reference solution; returns what the service answers."""


def change_solution(name: str, *, functions: Mapping[str, Any] | None = None, **verbs: Verb) -> Agent:
    """Return a reference solution with other functions or constants, and with overridden methods of its sandboxes."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        solve = load_solution(MESSAGES, name)
        solve.__globals__.update(functions or {})
        overridden = {key.replace("_", ".", 1): how for key, how in verbs.items()}
        return solve(task_item, override_methods(sandboxes, overridden))

    return on_task


def list_services(services: Any) -> list[ServedService]:
    """Return what is given to `serve` as described services."""
    items = services.items() if isinstance(services, Mapping) else ()
    return [describe_service(hook, answer) for hook, answer in items] or list(services)


def change_answers(change: ChangeAnswer) -> Verb:
    """Override `hooks.serve` so that services answer something else."""

    def serve(straight: Verb, services: Any, on_feedback: Any = None) -> Any:
        def wrap(service: ServedService) -> ServedService:
            return replace(service, answer=lambda request: change(request, list(service.answer(request))))  # type: ignore[arg-type]

        return straight([wrap(service) for service in list_services(services)], on_feedback)

    return serve


def change_cards(**fields: Any) -> Verb:
    """Override `hooks.serve` so that each card has other fields."""
    return change_answers(lambda _, cards: [{**card, **fields} for card in cards])


def change_resources(change: Callable[[Json], Json]) -> Verb:
    """Override `hooks.serve` so that the actions of suggestions have other resources."""

    def change_all(_: Json, cards: list[Json]) -> list[Json]:
        for card in cards:
            for suggestion in card["suggestions"]:
                suggestion["actions"] = [
                    {**action, "resource": change(action["resource"])} for action in suggestion["actions"]
                ]
        return cards

    return change_answers(change_all)


# Other correct ways.


@contextmanager
def serve_with_own_server(serve: Verb, services: Any, on_feedback: Any = None) -> Iterator[None]:
    """Serve the services by a plain HTTP server, and register its URL."""
    hooks = serve.__self__  # type: ignore[attr-defined]
    described = {service.description.id: service for service in list_services(services)}

    class Handler(BaseHTTPRequestHandler):
        """The services, with nothing from Clerkship."""

        def do_GET(self) -> None:
            listed = [service.description.to_wire() for service in described.values()]
            self.reply({"services": listed} if self.path == "/clinic/cds-services" else {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            _, _, _, id, *rest = self.path.split("/")
            if rest and on_feedback:
                on_feedback(id, body["feedback"])
            self.reply({} if rest else {"cards": described[id].answer(body)})

        def reply(self, data: Any) -> None:
            """Send JSON."""
            self.send_response(200)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.end_headers()
            self.wfile.write(json.dumps(data, indent=2).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Do not print requests."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        hooks.register(f"http://127.0.0.1:{server.server_address[1]}/clinic")
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)


def enrich_cards(request: Json, cards: list[Json]) -> list[Json]:
    """Return cards in capitals, with optional fields."""
    more = {
        "detail": "See the **guideline** of the practice.",
        "links": [{"label": "Guideline", "url": "https://riverbend.example/guideline", "type": "absolute"}],
        "overrideReasons": [{"code": "known", "system": "urn:riverbend", "display": "The risk is known"}],
    }
    return [
        {"uuid": f"{request['hookInstance']}-{number}", **more, **card, "summary": card["summary"].upper()}
        for number, card in enumerate(cards)
    ]


def fetch(request: Json, query: str) -> Json:
    """Return what the chart returns for a query with the access token of the call."""
    url = f"{request['fhirServer'].rstrip('/')}/{query}"
    token = request["fhirAuthorization"]["access_token"]
    with urllib.request.urlopen(urllib.request.Request(url, headers={"authorization": f"Bearer {token}"})) as response:
        found: Json = json.load(response)
    return found


def serve_without_prefetch(serve: Verb, services: Any, on_feedback: Any = None) -> Any:
    """Serve services that read the chart with the access token of the call, instead of asking for prefetch."""

    def wrap(service: ServedService) -> ServedService:
        def answer(request: Json) -> Any:
            patient = request["context"]["patientId"]
            queries = {
                key: template.replace("{{context.patientId}}", patient)
                for key, template in service.description.prefetch.items()
            }
            return service.answer({**request, "prefetch": {key: fetch(request, queries[key]) for key in queries}})

        return ServedService(service.description.model_copy(update={"prefetch": {}}), answer)

    return serve([wrap(service) for service in list_services(services)], on_feedback)


def post(handle: Any, path: str, body: Json) -> Json:
    """Send JSON to a sandbox over HTTP."""
    headers = {"authorization": f"Bearer {handle.token}", "content-type": "application/json"}
    request = urllib.request.Request(f"{handle.url}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        reply: Json = json.load(response)
    return reply


def call_over_http(call: Verb, service: str, hook: str, instance: str, context: Json, prefetch: Json) -> Any:
    """Call the service by a plain HTTP request."""
    body = {"hook": hook, "hookInstance": instance, "context": context, "prefetch": prefetch}
    return post(call.__self__, f"/cds-services/{service}", body)["cards"]  # type: ignore[attr-defined]


def report_over_http(feedback: Verb, service: str, *items: Json) -> None:
    """Report each card in a request of its own."""
    for item in items:
        post(feedback.__self__, f"/cds-services/{service}/feedback", {"feedback": [item]})  # type: ignore[attr-defined]


def patch_status(update: Verb, order: Json) -> Any:
    """Change an order by a JSON Patch."""
    changed = [{"op": "replace", "path": "/status", "value": order["status"]}]
    if "statusReason" in order:
        changed.append({"op": "add", "path": "/statusReason", "value": order["statusReason"]})
    return update.__self__.patch(order["resourceType"], order["id"], changed)  # type: ignore[attr-defined]


def use_other_instances(call: Verb, service: str, hook: str, instance: str, context: Json, prefetch: Json) -> Any:
    """Call the service under other hook instances, with values that were not asked for too."""
    patient = {"resourceType": "Patient", "id": context["patientId"]}
    return call(service, hook, str(UUID(int=UUID(instance).int ^ 1)), context, {**prefetch, "patient": patient})


SERVICES = {
    "warn_of_an_interaction": "Warn of an order that interacts, and of no other",
    "stop_what_an_order_replaces": "Suggest to stop the drug that an order replaces",
    "remind_of_an_overdue_a1c": "Remind of an overdue A1c when a chart is opened",
    "check_the_kidneys_without_prefetch": "Check the kidneys without prefetch",
}
"""Solutions that offer a service, and their tasks."""
ASKING = {
    "ask_before_orders_are_signed": "Ask the order safety service before orders are signed",
    "decide_about_duplicate_orders": "Decide about duplicate orders by their reason",
}
"""Solutions that ask a service, and their tasks."""
WAYS: dict[str, tuple[Mapping[str, str], dict[str, Verb]]] = {
    "a server of its own": (SERVICES, {"hooks_serve": serve_with_own_server}),
    "richer cards in capitals": (SERVICES, {"hooks_serve": change_answers(enrich_cards)}),
    "the token instead of prefetch": (SERVICES, {"hooks_serve": serve_without_prefetch}),
    "plain HTTP": (ASKING, {"advisor_call_service": call_over_http, "advisor_feedback": report_over_http}),
    "JSON Patch": (ASKING, {"ehr_update": patch_status}),
    "other hook instances": (ASKING, {"advisor_call_service": use_other_instances}),
    "each call twice": (ASKING, {"advisor_call_service": call_twice}),
}
"""Name -> the solutions to which it applies, and the overridden methods."""
