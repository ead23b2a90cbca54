"""Access to a sandbox for its deliveries, which call the agent and hold the clock meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from clerkship.events.event import Payload
from clerkship.playground import clock_hold  # the module, so that tests can change MAX_HOLD_SECONDS
from clerkship.playground.client import GatewayClient
from clerkship.sandbox.authentication.jwks import JWKS_PATH
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import Reply
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.delivery import IssuedAccess
from clerkship.transports.outbound.policy import ResolvedAddress


@dataclass(frozen=True, slots=True)
class DeliveryClient(GatewayClient):
    """Implements OutboundClient for one delivery of a sandbox."""

    hold: clock_hold.DeliveryHold

    async def call_as_run(self, call: ProtocolCall) -> Reply:
        """Call an operation as the run, not as the agent."""
        return await self.call(call, "run")

    async def resolve(self, address: OutboundAddress) -> ResolvedAddress:
        """Check an address against the outbound policy, and that none of our own listeners is there."""
        self.gateway.check_address(address)
        return await self.gateway.policy.check(address)

    async def record(self, payload: Payload, wall_ms: float) -> None:
        """Log an event about a call of the agent and store its duration, unless the trial is over or the log full."""
        await self.run_locked(partial(self._record, payload, wall_ms))

    def _record(self, payload: Payload, wall_ms: float) -> None:
        if self.open and not self.playground.log.is_full:
            event = self.playground.emit(self.sandbox.name, payload, "run")
            self.playground.sidecar.add_call(event.seq, wall_ms)

    async def schedule(self, after: timedelta, due: Callable[[], None]) -> None:
        """Call `due` after a simulated duration."""
        playground = self.playground
        await self.run_locked(lambda: playground.clock.schedule(playground.now + after, due))

    async def sign_jwt(self, audience: str, tenant: str = "") -> str:
        """Return a JWT with which the sandbox identifies itself."""
        await self._start_http()
        return await self.run_locked(partial(self._sign_jwt, audience, tenant))

    def _sign_jwt(self, audience: str, tenant: str) -> str:
        credentials, url = self.sandbox.credentials, self._build_url(self.sandbox.name)
        keys_url = f"{url}{JWKS_PATH}"
        return credentials.signing_key.sign(
            issuer=url, audience=audience, now=credentials.wall_now(), keys_url=keys_url, tenant=tenant
        )

    async def grant_access(
        self, sandbox: str, scopes: Sequence[str], patient: str, lifetime: timedelta
    ) -> IssuedAccess:
        """Issue an access token with scopes for another sandbox of the playground."""
        await self._start_http()
        return await self.run_locked(partial(self._grant_access, sandbox, scopes, patient, lifetime))

    def _grant_access(self, sandbox: str, scopes: Sequence[str], patient: str, lifetime: timedelta) -> IssuedAccess:
        token, access = self.playground.sandboxes[sandbox].credentials.grant(scopes, patient, lifetime)
        return IssuedAccess(self._build_url(sandbox), token, access.scope, int(lifetime.total_seconds()))

    async def _start_http(self) -> None:
        """Start the HTTP server if it is not running: URLs of sandboxes must work while the agent is called."""
        if not self.playground.address:
            base = await asyncio.to_thread(self.gateway.http_url)
            self.playground.address = base.partition("//")[2]

    def _build_url(self, sandbox: str) -> str:
        """Return the URL of a sandbox. Without an HTTP server, it has a reserved name (RFC 6761 §6.4)."""
        playground = self.playground
        if not playground.address:
            return f"http://{sandbox}.invalid"
        return f"http://{playground.address}/{playground.id}/{sandbox}"

    def random(self) -> float:
        """Return a random number that depends on the seed of the trial."""
        return self.playground.rng.stream(f"outbound/{self.hold.name}").random()

    @property
    def begun(self) -> int:
        """How often `begin` was called."""
        return self.hold.begun

    def begin(self) -> None:
        """Hold a stepped clock."""
        self.hold.begin()

    def extend(self, seconds: float | None = None) -> None:
        """Hold the clock for one more attempt."""
        self.hold.extend(seconds)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of this delivery. A paced clock has no turns."""
        if self.playground.environment.time != "stepped":
            yield
            return
        try:
            await self._wait_for_turn()
            yield
        finally:
            await self.run_locked(self.hold.end_turn)

    async def _wait_for_turn(self) -> None:
        granted, loop = asyncio.Event(), asyncio.get_running_loop()

        def grant() -> None:
            with suppress(RuntimeError):  # the loop is closed: the process is shutting down
                loop.call_soon_threadsafe(granted.set)

        while not granted.is_set():
            await self.run_locked(partial(self.hold.request_turn, grant))
            with suppress(TimeoutError):
                await asyncio.wait_for(granted.wait(), clock_hold.MAX_HOLD_SECONDS)

    async def finish(self, begun: int) -> None:
        """Release the clock."""
        await self.run_locked(partial(self.hold.finish, begun))
