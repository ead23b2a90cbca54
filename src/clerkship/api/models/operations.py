"""Answers about the server itself."""

from typing import Literal

from pydantic import BaseModel


class HealthAnswer(BaseModel):
    """That the server is as it should be."""

    status: Literal["ok", "ready"]
