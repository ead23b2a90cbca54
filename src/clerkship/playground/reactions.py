"""Run reactions: an event in one sandbox or domain changes another."""

from collections.abc import Callable, Mapping, Sequence

from clerkship.events.event import Event
from clerkship.events.lifecycle import RequestRefused
from clerkship.model.environment import Environment
from clerkship.model.errors import PlatformError
from clerkship.playground.component import RunningComponent
from clerkship.reactions.registry import SHIPPED, BoundReaction, BoundReactions, ReactionRegistry
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, ReactionResult

MAX_REACTION_DEPTH = 32
"""How deeply reactions may be nested. More is taken for a loop: two sandboxes that react to each other."""
ContextFactory = Callable[[str, str, int | None], ActionContext]
"""Returns the context in which an actor changes a sandbox, given the sandbox, the actor and the causing event."""


class ReactionLoop(PlatformError):
    """Raised when reactions cause each other without end."""


def bind_reactions(environment: Environment, registry: ReactionRegistry = SHIPPED) -> BoundReactions:
    """Resolve the reactions that an environment declares."""
    if not environment.reactions:
        return {}
    components = (*environment.simulators.items(), *environment.domains.items())
    kinds = {name: component.kind for name, component in components}
    return registry.bind(environment.reactions, kinds)


class ReactionRunner:
    """Runs the reactions to each event at once, in the order in which the environment lists them."""

    def __init__(self, bound: BoundReactions, components: Mapping[str, RunningComponent]) -> None:
        self._bound = bound
        self._components = components
        self._depth = 0
        self._results: dict[int, list[ReactionResult]] = {}

    def run(self, event: Event, context_for: ContextFactory) -> None:
        """Run the reactions to an event.

        Raises ReactionLoop if they are nested too deeply.
        """
        for reaction in self._bound.get((event.source, event.kind), ()):
            if self._depth >= MAX_REACTION_DEPTH:
                place = f"{event.source} -> {reaction.target}"
                raise ReactionLoop(f"reactions are nested more than {MAX_REACTION_DEPTH} deep: {place}")
            self._depth += 1
            try:
                result = self._run_one(reaction, event, context_for(reaction.target, "reaction", event.seq))
            finally:
                self._depth -= 1
            self._results.setdefault(event.seq, []).append(result)

    def _run_one(self, reaction: BoundReaction, event: Event, context: ActionContext) -> ReactionResult:
        context = context._replace(reaction_source=self._components[event.source].state)
        try:
            result = reaction.react(self._components[reaction.target].state, context, event)
        except Refusal as refusal:
            operation = f"react to {event.kind}"
            status, code, reason = refusal.status, refusal.code, refusal.reason
            context.emit(RequestRefused(operation=operation, status=status, code=code, reason=reason))
            return ReactionResult(reaction.target, refusal=refusal)
        return ReactionResult(reaction.target, result)

    def results(self, event: Event) -> Sequence[ReactionResult]:
        """Return the result of each reaction to an event, in the order in which they ran."""
        return self._results.get(event.seq, ())
