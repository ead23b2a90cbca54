"""`table_function_returns`: a function over the records at the end returns the expected value."""

from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field, JsonValue

from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.errors import InputError
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.sandbox.request import Refusal
from clerkship.simulators.tables.assertions.reference_calls import build_reference_action, find_source
from clerkship.simulators.tables.config import FUNCTION
from clerkship.simulators.tables.state import TablesState


class TableFunctionReturns(Assertion):
    """A function of the dataset, called over a copy of the records at the end, returns the expected value. A function
    that is only for criteria is listed in `not_for_agents` of the dataset.
    """

    name: ClassVar[str] = "table_function_returns"
    simulator: ClassVar[str | None] = "tables"
    unscoped_reason: ClassVar[str] = "the function decides which records it reads"
    function: Annotated[str, FUNCTION, Field(description="which function")]
    arguments: Annotated[dict[str, JsonValue], Field(description="its arguments, by name")] = {}
    value: Annotated[Expected, Field(description="what it returns: literal or matcher")] = True
    sandbox: Annotated[str | None, Field(description="which tables; the only ones if not given")] = None

    def check(self, evidence: Evidence) -> Check:
        """Call the function. Raises InputError if it is refused: it is a mistake of the author."""
        state = evidence.state(TablesState, self.sandbox)
        copy = state.copy_records()
        action = build_reference_action(copy, evidence.now, find_source(evidence, state))
        try:
            returned: Any = orjson.loads(copy.call_checked(action, self.function, self.arguments))
        except Refusal as refusal:
            raise InputError.of(f"the call of `{self.function}` was refused: {refusal.reason}") from None
        passed = matches_expected(self.value, returned)
        shown = orjson.dumps(returned).decode()[:200]
        detail = f"`{self.function}` returns {shown}"
        detail += "" if passed else f" (expected {describe_expected(self.value)})"
        return Check.of(passed, detail, field_check(self.function, self.value, returned, passed=passed))
