"""Real instrumentation of OpenInference traces calls of a real client, and the receiver of a trial reads its spans."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from clerkship.sandbox.trace_access import list_trace_variables
from tests.clients.installs import CannotInstall, python_environment
from tests.model_proxy.provider import KEY, MODEL, Call, ModelProvider
from tests.traces.desk import TraceDesk

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.slow
def test_spans_of_openinference_have_models_tools_and_tokens() -> None:
    try:
        python = python_environment("openinference", PROGRAMS / "openinference.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))
    with TraceDesk() as desk, ModelProvider(Call("look", {"id": "a"}), "forty", "42", "-") as provider:
        addresses = {"PROVIDER": f"{provider.url}/v1", "PROVIDER_KEY": KEY, **list_trace_variables(desk.address)}
        done = subprocess.run(
            [str(python), str(PROGRAMS / "trace_openinference.py")],
            env=os.environ | addresses,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == ["forty", "42", 1]
        desk.end()
    work, called, looked, failed, streamed, responded, embedded = desk.spans
    models = [(span.operation, span.model, span.provider) for span in (called, streamed, responded)]
    assert models == [("chat", MODEL, "openai")] * 3
    assert (embedded.operation, embedded.model) == ("embeddings", "text-embedding-3-large")
    assert (work.operation, work.parent) == ("invoke_agent", None)
    assert {span.parent for span in desk.spans[1:]} == {1}
    assert (looked.tool_name, looked.arguments, looked.result) == ("look", {"id": "a"}, {"orders": 42})
    assert (failed.tool_name, failed.is_error, failed.error_message) == ("look", True, "KeyError: 'b'")
    assert [tool.is_error for tool in desk.tools] == [False, True]
    names = ("input_tokens", "output_tokens", "response_id")
    measured = [tuple(each.get(name) for name in names) for each in desk.measured]
    assert measured[1] == (100, 10, "chatcmpl-0")
    assert measured[4:] == [(100, 10, "chatcmpl-1"), (100, 10, "resp_2"), (3, None, None)]
