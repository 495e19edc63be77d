"""Kinds of parameters that all models have, with what each can be."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, FiniteFloat

from forestall.model.units import MAX_SECONDS

Seconds = Annotated[int, Field(ge=0, lt=MAX_SECONDS)]
Positive = Annotated[int, Field(ge=1, lt=MAX_SECONDS)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
MAX_NODES = 2**20
