"""Search the directory of providers."""

from typing import NamedTuple

from clerkship.payer.members import ProviderOnFile
from clerkship.simulators.portal.desk import NOT_FOUND, Desk, DeskRefusal
from clerkship.simulators.portal.events import Searched, SearchSubject
from clerkship.simulators.portal.form_values import FormValues

MAX_ROWS = 50


def log_search(desk: Desk, subject: SearchSubject, text: str, codes: list[str]) -> None:
    """Log a search for providers or codes, and what was found."""
    records = tuple(f"{subject}/{code}" for code in codes)
    desk.action.emit(Searched(session=desk.session, subject=subject, terms={"text": text[:200]}, records=records))


def search_providers(desk: Desk, text: str) -> list[ProviderOnFile]:
    """Return the providers whose name has all words of a text, or whose NPI begins with it."""
    words = text.lower().split()
    known = desk.records.book.providers.values()
    return [each for each in known if each.npi.startswith(text) or all(word in each.name.lower() for word in words)]


class DirectorySearch(NamedTuple):
    """What was typed, and the providers that match."""

    name: str
    npi: str
    plan: str
    is_asked: bool
    providers: list[ProviderOnFile]


def find_in_directory(desk: Desk, form: FormValues) -> DirectorySearch:
    """Return the providers of a name, an NPI or a plan, and log the search. Problems are in the form."""
    name, npi, plan = (
        form.text("name", "The name", 80),
        form.text("npi", "The NPI", 10),
        form.text("plan", "The plan", 80),
    )
    if npi and not (npi.isdecimal() and len(npi) == 10):
        form.refuse("npi", "An NPI has ten digits.")
    if form.has("name", "npi") and not (name or npi or plan or form.problems):
        form.refuse("name", "Enter part of a name or an NPI, or choose a plan.")
    is_asked = bool(name or npi or plan) and not form.problems
    if not is_asked:
        return DirectorySearch(name, npi, plan, is_asked, [])
    found = search_providers(desk, npi or name) if npi or name else list(desk.records.book.providers.values())
    chosen = [each for each in found if not plan or desk.records.is_in_network(each.npi, plan)][:MAX_ROWS]
    terms = {key: text for key, text in (("name", name), ("npi", npi), ("plan", plan)) if text}
    records = tuple(f"provider/{each.npi}" for each in chosen)
    desk.action.emit(Searched(session=desk.session, subject="provider", terms=terms, records=records))
    return DirectorySearch(name, npi, plan, is_asked, chosen)


def get_provider(desk: Desk, npi: str) -> ProviderOnFile:
    """Return a provider of the directory."""
    provider = desk.records.find_provider(npi)
    if provider is None:
        raise DeskRefusal(NOT_FOUND, f"There is no provider with the NPI {npi[:20]}.", "Search the directory.")
    return provider
