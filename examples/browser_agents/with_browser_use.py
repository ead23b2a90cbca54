"""The same with browser-use, a library whose agent asks a model what to click: a program, in an environment of its own.

The model is MODEL, at OPENAI_BASE_URL, with the key OPENAI_API_KEY.
"""

import asyncio
import json
import logging
import os
import shutil
import sys

# Before the import: no telemetry, no search for a newer version, and no log on standard output, which has the answer.
os.environ.update(ANONYMIZED_TELEMETRY="false", BROWSER_USE_VERSION_CHECK="false", BROWSER_USE_SETUP_LOGGING="false")

from browser_use import Agent, Browser, ChatOpenAI

PROMPT = """{instruction}

The payer portal is at {portal_url} . It is {now} there. Sign in as `username` with the password `password`.
If a page asks to verify that you are human, do not try it: stop, and say so.
Finish with the answer alone, without other words.
"""


async def work(message):
    """Let the agent work with the pages, and return its answer."""
    account = message["sandboxes"]["portal"]["portal"]
    browser = Browser(
        executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
        headless=True,
        chromium_sandbox=os.geteuid() != 0,  # Chromium has no sandbox for root
        enable_default_extensions=False,  # they would be downloaded
    )
    agent = Agent(
        task=PROMPT.format(now=message["now"], portal_url=account["portal_url"], **message["task_item"]),
        llm=ChatOpenAI(model=os.environ.get("MODEL", "gpt-5.1")),
        browser=browser,
        sensitive_data={name: account[name] for name in ("username", "password")},  # the model sees the names only
        use_vision=False,
        use_judge=False,
    )
    history = await agent.run(max_steps=40)
    return history.final_result()


logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")  # shown by `clerkship show`
for line in sys.stdin:
    print(json.dumps({"answer": asyncio.run(work(json.loads(line)))}), flush=True)
