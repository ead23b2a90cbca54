"""A model that is none: a chat-completions endpoint that follows a script, to try `openai:` without a key.

    python server.py            listens on 127.0.0.1:8765
    python server.py --port 0   on any free port; the first line it prints is its address

It plays the practice's front desk: it asks for the day, books by calling a tool, and adds up the orders.
"""

import argparse
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def next_message(messages, tools):
    """What the model says or calls next, from what was said so far."""
    names = [tool["function"]["name"] for tool in tools]
    last = messages[-1]
    if "finish" in names:
        return work(last, next(name for name in names if name.endswith("read_file")))
    return talk([message for message in messages if message["role"] != "system"], last)


def talk(messages, last):
    """A conversation: find the day, ask, write it down, confirm."""
    said = " ".join(message["content"] for message in messages if message["role"] == "user")
    day = re.search(r"(?i)monday|tuesday|wednesday|thursday|friday", said)
    if last["role"] == "tool":
        return say(f"Booked for {day[0]} at 10:00. See you then!")
    if day and "yes" in last["content"].lower():
        return call("write_file", {"path": "bookings.txt", "data": f"{day[0]} 10:00"})
    if day:
        return say(f"{day[0]} at 10:00 is free. Shall I book it?")
    return say("Which day would suit you?")


def work(last, read_file):
    """A piece of work: read the file, add it up, finish. With several sandboxes the tool is `drop__read_file`."""
    if last["role"] != "tool":
        return call(read_file, {"path": "inbox/orders.csv"})
    lines = last["content"].splitlines()[1:]
    return call("finish", {"answer": sum(int(line.split(",")[1]) for line in lines)})


def say(text):
    """Words for the person."""
    return {"role": "assistant", "content": text}


def call(name, arguments):
    """A tool to be called."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


class Handler(BaseHTTPRequestHandler):
    """`POST /v1/chat/completions`, and nothing else."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self.reply(404, {"error": {"message": f"nothing is at {self.path}"}})
        message = next_message(asked["messages"], asked.get("tools", []))
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": len(json.dumps(asked)) // 4, "completion_tokens": len(json.dumps(message)) // 4}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return self.reply(
            200, {"object": "chat.completion", "model": asked["model"], "choices": [choice], "usage": usage}
        )

    def reply(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
