"""A small suite with an agent that has one bug: what many tests run."""

from pathlib import Path

SUITE = Path(__file__).parent
AGENT = "python:tests.front_desk.agent:FrontDesk"
