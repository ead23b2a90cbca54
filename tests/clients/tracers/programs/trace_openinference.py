"""Calls of OpenAI's client that OpenInference traces, and two calls of a tool, sent as the variables of a trial say."""

import json
import os
import sys
from contextlib import suppress
from typing import Any

from openai import OpenAI
from openinference.instrumentation import TracerProvider
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)
tracer = provider.get_tracer("agent")
client = OpenAI(base_url=os.environ["PROVIDER"], api_key=os.environ["PROVIDER_KEY"], max_retries=0)
messages: Any = [{"role": "user", "content": "How many orders?"}]
tool: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@tracer.tool(name="look")  # type: ignore[untyped-decorator]
def look(id: str) -> dict[str, int]:
    """Look something up."""
    if id != "a":
        raise KeyError(id)
    return {"orders": 42}


context = TraceContextTextMapPropagator().extract({"traceparent": os.environ["TRACEPARENT"]})
with tracer.start_as_current_span("work", context, openinference_span_kind="agent"):
    message: Any = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool]).choices[0].message
    look(**json.loads(message.tool_calls[0].function.arguments))
    with suppress(KeyError):
        look("b")
    stream = client.chat.completions.create(
        model="gpt-4o", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    response = client.responses.create(model="gpt-4o", input="How many orders?")
    vectors = client.embeddings.create(model="text-embedding-3-large", input="orders")
provider.shutdown()
sys.stdout.write(json.dumps([text, response.output_text, len(vectors.data)]))
