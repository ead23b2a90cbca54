"""The page of the domains: what one is, how files name it, and each that ships."""

from collections.abc import Callable

from pydantic import BaseModel

from clerkship.domains.contract import DomainSpec
from clerkship.engine.catalog import Registered
from clerkship.model.environment import RESERVED_NAMES, RESERVED_SOURCES

Fields = Callable[[type[BaseModel]], str]


def domains_page(head: str, catalog: Registered, fields: Fields) -> str:
    """Write the page."""
    reserved = ", ".join(f"`{name}`" for name in sorted(RESERVED_NAMES | RESERVED_SOURCES))
    shipped = "\n".join(_domain(spec, fields) for _, spec in catalog.domains.items())
    return f"""{head}
# Domains

A domain is state that several simulators share, without a transport of its own. An appointment book is one that a
booking desk and a kiosk both ask. A domain has a kind, a config, datasets, events, steps and assertions, as a
simulator has. It has no address, no credentials and no requests: agents reach it only through the simulators that
call it. It is not listed to agents, it cannot be attacked, and no fault strikes it.

An environment has its domains under `domains`, in the same form as `simulators`:

```yaml
environment:
  name: clinic
  datasets: [slots]
  simulators:
    desk: {{kind: acme.desk}}
    kiosk: {{kind: acme.kiosk}}
  domains:
    book: {{kind: acme.book, config: {{most: 2}}, datasets: [slots]}}
  reactions: [book.slot.taken -> desk]
```

- The name of a domain is not that of a sandbox, nor one of {reserved}.
- The name is the source of its events in the log. Steps, assertions and event matchers name a domain by the key
  `sandbox`, as they name a sandbox. Where there is only one of a kind, the name can be left out.
- A reaction can have a domain as its source or its target.
- A simulator that calls a domain says so in its `Spec`. An environment with such a simulator and no such domain is an
  error.

## Actor and cause

An event of a domain has the actor of the action that called it: `agent` for a request of the agent, `reaction` for a
reaction, `scenario` for a step. Its `cause` is the last event that the calling operation emitted before the call. An
operation that has emitted nothing passes on its own cause: that is the event reacted to in a reaction, and null in a
request.

## Calling a domain

An operation calls a domain by the type of its state:

```python
from acme_clinic.book import BookState, Booking

def book(self, act: ActionContext, slot: str, patient: str) -> Booking:
    act.emit(BookingAsked(slot=slot))
    book, book_act = act.domain(BookState)
    return book.take(book_act, slot, patient)
```

`act.domain(BookState, "book")` names one of several. What the method returns is what the caller gets. A `Refusal`
that the domain raises reaches the operation, and the agent, in the words of the simulator's protocol, unless the
operation catches it. [Extend it](../guide/extend.md#a-domain) shows how to write a domain;
[plug-ins](plugins.md#domainspec) has the fields of a `DomainSpec`.

## Domains that ship

{shipped or "None yet."}
"""


def _domain(spec: DomainSpec, fields: Fields) -> str:
    config = fields(spec.config) if spec.config.model_fields else "Nothing to configure.\n"
    return f"""### {spec.kind}

{spec.summary} Loaded from datasets of type `{spec.dataset or "none"}`.

Config:

{config}"""
