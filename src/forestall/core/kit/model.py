"""What a model of the simulator is to options, runs, sweeps and reports: one class, one entry.

A model is a way to play jobs and failures: the promise model, virtual machines, guests on shared
hosts. `runs.models` is the
table of them; everything that takes ``--model`` asks there and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from forestall.core.kit.checked import checked
from forestall.core.kit.own import own_of
from forestall.core.model.own import Own, is_own
from forestall.core.model.settings import Parameter, declared

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from forestall.core.certify.finding import Certificate
    from forestall.core.kit.measure import Measure
    from forestall.core.model.jobs import Jobs
    from forestall.logs.inputs import Inputs
    from forestall.machines.report.result import VirtualResult
    from forestall.machines.simulation.parameters import VirtualParameters
    from forestall.scheduling.report.result import Result
    from forestall.scheduling.simulation.parameters import Parameters
    from forestall.sharing.report.result import CycleResult
    from forestall.sharing.simulation.parameters import CycleParameters

    AnyParameters: TypeAlias = Parameters | VirtualParameters | CycleParameters
    AnyResult: TypeAlias = Result | VirtualResult | CycleResult


COMPILED = 120_000_000
"""Bytes that compiled code and what compiles it take, about."""


def _loaded(place: str) -> Callable[..., Any]:
    """Return the function or class that stands at ``module:name``."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


class Model(ABC):
    """A model, by its name.

    Attributes
    ----------
    name : as the parameter ``model`` takes it
    label : as people read it
    plays : what it plays, as the command line names it
    parameters : the class of its parameters, which declares them (`forestall.core.model.settings`)
    on_hosts : whether jobs are played against traces of shared hosts, not of failures
    unlearnt : predictors that need nothing to learn from, the default first
    deep : measures that are lists, or that can be None where they have parts else: no columns
    drawn : measures that get figures in a sweep, flat
    shown : further measures for the page of a sweep
    averaged : measures that the table of means of a sweep tells; none: `runs.sweep_words.FIRST`
    drawing : what the seed of a run draws, in words, where that is less than one would think
    compiling : how long the first run compiles, in words
    told_by : measures that the model's own figures of a sweep tell, by the figure's name
    measured : words and factors for axes of measures, beside those of `runs.sweep_figures`
    certifier : the function that checks the folder of a run, as ``module:function``; it is loaded
        by itself, since it shares nothing with the simulator
    always : files of every run that the certifier could do without
    replayer : the function that drives an engine from the log in such a folder
    decides : the parameter that says who decides, which a class of the user's own can be
    decider : the class that is the base of those, as ``module:Class``
    """

    name: ClassVar[str]
    label: ClassVar[str]
    plays: ClassVar[str]
    parameters: ClassVar[type[AnyParameters]]
    on_hosts: ClassVar[bool] = False
    unlearnt: ClassVar[tuple[str, ...]]
    deep: ClassVar[frozenset[str]]
    drawn: ClassVar[tuple[str, ...]]
    shown: ClassVar[tuple[str, ...]]
    averaged: ClassVar[tuple[str, ...]] = ()
    drawing: ClassVar[str] = ""
    compiling: ClassVar[str] = "about 15 s"
    told_by: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    measured: ClassVar[Mapping[str, tuple[str, float]]] = {}
    certifier: ClassVar[str]
    always: ClassVar[tuple[str, ...]] = ()
    replayer: ClassVar[str]
    decides: ClassVar[str]
    decider: ClassVar[str]

    @property
    def declared(self) -> Mapping[str, Parameter]:
        """Its parameters as they are declared, by name and in order."""
        return declared(self.parameters)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of its parameters, in order."""
        return tuple(self.declared)

    @cached_property
    def labels(self) -> Mapping[str, tuple[str, float]]:
        """Words of axes, and factors into the units that they name, of parameters and measures."""
        return {name: one.axis for name, one in self.declared.items()} | dict(self.measured)

    @cached_property
    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """The order of the lines of a figure, for parameters where it is not the alphabet's."""
        return {n: one.setting.order for n, one in self.declared.items() if one.setting.order}

    def checked(self, values: Mapping[str, Any]) -> AnyParameters:
        """Return validated parameters; ParameterError names the first that cannot be. The words
        for what is not given stand for None."""
        absent = {name: one.setting.absent for name, one in self.declared.items()}
        plain = {n: None if v and v == absent.get(n) else v for n, v in values.items()}
        return checked(self.parameters, plain)

    def told(self, name: str, value: Any) -> str:
        """Return the value of a parameter as it could be given, with its unit."""
        return self.declared[name].told(value)

    def idle(self, parameters: AnyParameters) -> dict[str, tuple[str, ...]]:
        """Return the parameters that change nothing in such a run, each with the parameter and the
        values of which it would need one. A class of the user's own may need any."""
        given = dict(parameters)
        needs = ((name, one.setting.only) for name, one in self.declared.items())
        return {
            name: only
            for name, only in needs
            if only and given[only[0]] not in only[1:] and not is_own(str(given[only[0]]))
        }

    def idle_hints(self, parameters: AnyParameters) -> list[str]:
        """Return a hint on each parameter that is not as by default and changes nothing."""
        plain, given = dict(self.parameters()), dict(parameters)
        return [
            f"{{{name}}} has no effect without {{{other}}} {' or '.join(values)}"
            for name, (other, *values) in self.idle(parameters).items()
            if name != "seed" and given[name] != plain[name]
        ]

    def world(self, inputs: Inputs) -> Any:
        """Return what jobs are played against, as `simulate` takes it: the chosen failures."""
        return inputs.read_failures()

    @abstractmethod
    def simulate(self, jobs: Jobs, failures: Any, **more: Any) -> AnyResult:
        """Play one run against what `world` returned; keywords are those of
        `scheduling.simulate.simulate`."""

    @abstractmethod
    def needed(self, jobs: Jobs, world: Any, parameters: AnyParameters) -> float:
        """Return the bytes that such a run takes beside what is read for it, about."""

    def alike(self, parameters: AnyParameters) -> AnyParameters:
        """Return parameters of which the same result comes: one for all that differ in nothing
        that counts."""
        return parameters

    @abstractmethod
    def is_compiled(self, parameters: AnyParameters) -> bool:
        """Return whether the kernels of such a run are in the cache."""

    @abstractmethod
    def hints(self, jobs: Jobs, failures: Any, result: Any) -> list[str]:
        """Return what looks as if the user meant something else, naming in braces the parameters
        that would say so."""

    @abstractmethod
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures that a sweep tells least and most of."""

    def certified(self, folder: Path) -> Certificate:
        """Return what the certifier finds in the folder of a run."""
        certificate: Certificate = _loaded(self.certifier)(folder)
        return certificate

    def own(self, given: Any) -> Own | None:
        """Return what decides in the user's own Python where it was given, as itself, its class or
        the spelling of its class; None for all else."""
        kind: Any = _loaded(self.decider)
        return own_of(self.decides, kind, given)

    def replayed(self, folder: Path, own: Any = None) -> list[str]:
        """Return the lines of `decisions.csv` as an engine gives them that is driven from the log
        in the folder of a run; `own` is the policy, strategy or scheduler in Python that decided,
        where one did."""
        lines: list[str] = _loaded(self.replayer)(folder, own)
        return lines

    def own_figures(
        self, table: pl.DataFrame, axes: Mapping[str, tuple[Any, ...]]
    ) -> dict[str, Figure]:
        """Return figures of a sweep that only this model has, by name."""
        return {}
