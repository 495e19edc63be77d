"""Forecasts for all hosts, slot by slot, made when they are asked for; runs can share them."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.core.model.hosts import HostTraces
from forestall.prediction.models.semi_markov.curve_kernels import ShareRows, Sketch, draw_all
from forestall.prediction.models.semi_markov.first_failure_kernels import RUNNING
from forestall.prediction.models.semi_markov.forecast import (
    HostCurves,
    HostPast,
    HostPasts,
    Outlook,
    new_sketch,
    sketch_from,
    sketch_of,
)
from forestall.prediction.models.semi_markov.learning import MONDAY
from forestall.sharing.simulation.outcome import HostRuns
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.prepare import prepare_hosts, states_of, usable_of

KEPT_BYTES: Final = 2**29
"""Of forecasts that are kept for runs to come; more are made again when they are asked for."""

ABOUT_HOSTS: Final = (
    *("th1", "th2", "hold", "guest_memory", "spikes", "warm_up"),
    *("history", "predict_every", "predict_step", "horizon"),
    *("loads_by_state", "pools", "load_fades"),
)
"""What of the parameters states and forecasts depend on."""
_SAID: Final = {"pools": "pooling", "load_fades": "load_memory", "loads_by_state": "scheduler"}
"""Under which name parameters have what else is asked of them."""


class Forecasts:
    """What is known of hosts: their states, and forecasts for slots of `predict_every` seconds.

    A forecast is made from what was seen before its slot begins. Runs on the same hosts with the
    same parameters about hosts can share one object, one after another; each forecast is then made
    once, where they are `kept`.
    """

    def __init__(
        self, hosts: HostTraces, parameters: CycleParameters, *, kept: bool = True
    ) -> None:
        self.hosts, self.parameters = hosts, parameters
        self.made = 0
        self._pasts: HostPasts | None = None
        self._kept: dict[int, tuple[ShareRows, Floats]] = {}
        self._keeps = kept
        self._room: tuple[Outlook, Sketch] | None = None
        self.states: HostRuns = prepare_hosts(hosts, parameters)

    def check(self, hosts: HostTraces, parameters: CycleParameters) -> None:
        """Raise ParameterError where these are others than those it was made for."""
        if hosts is not self.hosts:
            raise ParameterError("forecasts", "of other hosts", "forecasts of the same hosts")
        for name in ABOUT_HOSTS:
            if getattr(self.parameters, name) != getattr(parameters, name):
                told = _SAID.get(name, name)
                mine, theirs = getattr(self.parameters, told), getattr(parameters, told)
                raise ParameterError(told, theirs, f"{mine}, as the forecasts have it")

    @property
    def steps(self) -> int:
        """Steps of a forecast."""
        return max(1, self.parameters.horizon // (self._every * self.hosts.period))

    @property
    def _every(self) -> int:
        return max(1, -(-self.parameters.predict_step // self.hosts.period))

    def curves(self, slot: int) -> HostCurves:
        """Return the curves of all hosts from the beginning of a slot on. They hold until curves
        are asked for again."""
        sketch = self._sketch(slot)
        draw_all(sketch)
        drawn: HostCurves = sketch.curves
        return drawn

    def sketch(self, slot: int) -> Sketch:
        """Return what `curves` does, to be drawn as far as somebody asks."""
        # Whoever has curves of its own says so by that method alone.
        if type(self).curves is not Forecasts.curves:
            return sketch_from(self.curves(slot))
        return self._sketch(slot)

    def _sketch(self, slot: int) -> Sketch:
        if self._room is None:
            step, memory = self._every * self.hosts.period, self.parameters.load_fades
            blank = new_sketch(self.hosts.speed, self.steps, step, memory=memory)
            self._room = self._new_outlook(), blank
        known = self._kept.get(slot) or self._made(slot, self._room[0])
        return sketch_of(self._room[1], *known)

    def _new_outlook(self) -> Outlook:
        shape = (len(self.hosts), RUNNING)
        return Outlook(np.empty((*shape, self.steps)), np.empty((*shape, self.steps + 1)))

    def _made(self, slot: int, room: Outlook) -> tuple[ShareRows, Floats]:
        """Return shares and chances to stay of a slot, made now: to keep, or written into the
        room."""
        parameters = self.parameters
        origin = MONDAY if self.hosts.origin is None else self.hosts.origin
        size = sum(part.nbytes for part in room)
        keeps = self._keeps and (len(self._kept) + 1) * size <= KEPT_BYTES
        outlook = self._new_outlook() if keeps else room
        shares = self.pasts().foretell(
            outlook,
            origin + slot * parameters.predict_every,
            days=parameters.history,
            pooled=parameters.pools,
            by_state=parameters.loads_by_state,
        )
        self.made += 1
        known = shares, outlook.reliability
        if keeps:
            self._kept[slot] = known
        return known

    def pasts(self) -> HostPasts:
        """Return all that was seen of the hosts; made at the first call."""
        if self._pasts is None:
            self._pasts = HostPasts([self._past(number) for number in range(len(self.hosts))])
        return self._pasts

    def _past(self, number: int) -> HostPast:
        hosts = self.hosts
        states = states_of(hosts, number, self.parameters)
        return HostPast.of(
            states,
            np.diff(self.states.done[number]) // hosts.period,
            usable_of(hosts.load[number], states),
            speed=float(hosts.speed[number]),
            period=hosts.period,
            every=self._every,
            origin=MONDAY if hosts.origin is None else hosts.origin,
        )
