"""The client of a server, for agents and their authors. It needs no engine.

```python
from clerkship.client import Client

with Client("https://tests.example.org", key) as server:
    run = server.start_benchmark_run("chart@1")
    agent = server.with_key(run.bearer_token)
    for task_run in run.task_runs:
        started = agent.start_task_run(task_run.id)
        ...
        print(agent.complete_task_run(task_run.id, answer="done").verdict)
```

`AsyncClient` has the same methods, to be awaited. The error of each code of a refusal is in `clerkship.client.errors`.
"""

from clerkship.client.errors import ServerProblem, ServerUnreachable
from clerkship.client.http import AsyncClient, Client

__all__ = ["AsyncClient", "Client", "ServerProblem", "ServerUnreachable"]
