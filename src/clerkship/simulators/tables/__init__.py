"""`tables`: functions over JSON tables, which the suite's author writes."""

from clerkship.model.closed import OPERATION, PERSON_TOOL
from clerkship.simulators.spec import Spec
from clerkship.simulators.tables.assertions.table_function_returns import TableFunctionReturns
from clerkship.simulators.tables.assertions.table_no_other_changes import TableNoOtherChanges
from clerkship.simulators.tables.assertions.table_state import TableState
from clerkship.simulators.tables.attack import TablesAttack
from clerkship.simulators.tables.config import FUNCTION, TABLE, TablesConfig
from clerkship.simulators.tables.datasets import TABLES, TABLES_DATASET
from clerkship.simulators.tables.events import EVENTS
from clerkship.simulators.tables.exercise import DATASET, EXERCISE
from clerkship.simulators.tables.handle import TableFunctions
from clerkship.simulators.tables.http import ROUTES, build_function_routes
from clerkship.simulators.tables.operations import OPERATIONS
from clerkship.simulators.tables.state import TablesState
from clerkship.simulators.tables.steps import CallFunction, DeleteRecord, PutRecord
from clerkship.simulators.tables.table_set import merge_tables

SPEC = Spec(
    kind="tables",
    summary="Functions over JSON tables: each function of the dataset is a tool, beside a policy to read.",
    state=TablesState,
    events=EVENTS,
    operations=OPERATIONS,
    routes=ROUTES,
    build_routes=build_function_routes,
    handle=TableFunctions,
    exercise=EXERCISE,
    exercise_datasets=(DATASET,),
    config=TablesConfig,
    dataset=TABLES,
    prepare=merge_tables,
    names={
        TABLE.sort: lambda config, base: base.names,
        FUNCTION.sort: lambda config, base: base.function_names,
        OPERATION.sort: lambda config, base: base.agent_function_names,
        PERSON_TOOL.sort: lambda config, base: base.function_names,
    },
    assertions=(TableState, TableFunctionReturns, TableNoOtherChanges),
    steps=(PutRecord, DeleteRecord, CallFunction),
    view="clerkship.simulators.tables.state_view:list_rows",
    run_coverage="clerkship.simulators.tables.run_coverage:DIMENSIONS",
    attack=TablesAttack(),
    dataset_types=(TABLES_DATASET,),
)
