"""A simulator without HTTP: pages are sent and listed over its own line protocol."""

import asyncio
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.events.event import Event, Payload
from clerkship.model.frozen import Frozen
from clerkship.sandbox.component import NoConfig
from clerkship.sandbox.listener import ProtocolListener, SandboxClient
from clerkship.sandbox.operation import NO_INPUT, NoInput, OperationCall, OperationContext, operation
from clerkship.sandbox.request import ConnectionInfo, Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.spec import Spec


class PageSent(Payload):
    """A page was sent."""

    kind: ClassVar[str] = "pager.page.sent"
    number: str
    text: str


class PagerState(State[NoConfig]):
    """The pages that were sent, oldest first."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.pages: list[list[str]] = []

    def send(self, action: ActionContext, number: str, text: str) -> None:
        """Send a page."""
        if not number.isdigit():
            raise Refusal(422, "bad_number", f"{number[:20]} is no number")
        action.emit(PageSent(number=number, text=text))

    def apply(self, event: Event) -> None:
        """Keep the page."""
        if isinstance(event.payload, PageSent):
            self.pages.append([event.payload.number, event.payload.text])

    def dump(self) -> list[list[str]]:
        """Return all pages."""
        return [list(page) for page in self.pages]


class Page(Frozen):
    """A page to send."""

    number: Annotated[str, Field(description="the number of the pager")]
    text: str = ""


@operation()
def send_page(context: OperationContext[PagerState], page: Page) -> str:
    """Send a page."""
    context.state.send(context.action, page.number, page.text)
    return "sent"


@operation()
def list_pages(context: OperationContext[PagerState], _: NoInput) -> list[list[str]]:
    """List the pages that were sent."""
    return context.state.dump()


class PagerCall(OperationCall[Any, Any]):
    """A line of the pager protocol."""

    transport: ClassVar[str] = "pager"


def parse_line(line: str) -> PagerCall:
    """Read `list`, or `page NUMBER TEXT`."""
    verb, _, remaining = line.partition(" ")
    if verb == "list":
        return PagerCall(list_pages, NO_INPUT)
    number, _, text = remaining.partition(" ")
    return PagerCall(send_page, Page(number=number, text=text), number, line.encode())


class PagerListener(ProtocolListener):
    """Reads one line, `ADDRESS COMMAND`, and answers with the status."""

    name: ClassVar[str] = "pager"

    async def open(self, host: str, port: int) -> None:
        """Listen."""
        self.server = await asyncio.start_server(self._answer, host, port)
        self.port: int = self.server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening."""
        self.server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address, _, line = (await reader.readline()).decode().strip().partition(" ")
        client = self.directory.find(address)
        status = 401 if client is None else (await client.call(parse_line(line))).status
        writer.write(str(status).encode())
        writer.close()

    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return the port and the address."""
        return {"host": "127.0.0.1", "port": self.port, "user": client.address}

    def example(self, info: ConnectionInfo) -> str:
        """Return a command that lists pages."""
        return f"echo {info['user']} list | nc {info['host']} {info['port']}"


SPEC = Spec(
    kind="pager",
    summary="Pages, sent over a line protocol.",
    state=PagerState,
    events=(PageSent,),
    operations=(send_page, list_pages),
    listeners=(PagerListener,),
    exercise=(
        parse_line("page 12 call the ward"),
        parse_line("page x"),
        parse_line("list"),
        parse_line("page 7 again"),
    ),
)
