"""`fs.hosts`: states of shared hosts, their past, and forecasts of how long they stay."""

from forestall.predict.linear.arma import Arma, fit_arma
from forestall.predict.linear.forecasts import best_window
from forestall.predict.semi_markov.forecast import HostCurves, HostPast, Outlook, curves, foretold
from forestall.predict.semi_markov.learning import MONDAY, HostHistory, weekend
from forestall.predict.semi_markov.states import (
    FAILING,
    UP_DOWN,
    Stays,
    Unavailability,
    host_states,
    on_grid,
    stays,
    unavailability,
    up_down,
)
from forestall.simulation.cycle.forecasts import Forecasts
from forestall.simulation.cycle.prepare import rates_of, states_of, usable_of
from forestall.traces.generate.hosts import ORIGIN, host_load

__all__ = [
    "FAILING",
    "MONDAY",
    "ORIGIN",
    "UP_DOWN",
    "Arma",
    "Forecasts",
    "HostCurves",
    "HostHistory",
    "HostPast",
    "Outlook",
    "Stays",
    "Unavailability",
    "best_window",
    "curves",
    "fit_arma",
    "foretold",
    "host_load",
    "host_states",
    "on_grid",
    "rates_of",
    "states_of",
    "stays",
    "unavailability",
    "up_down",
    "usable_of",
    "weekend",
]
