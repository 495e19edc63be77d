"""`fs.hosts`: states of shared hosts, their past, and forecasts of how long they stay."""

from forestall.logs.generate.hosts import ORIGIN, host_load
from forestall.prediction.models.linear.arma import Arma, fit_arma
from forestall.prediction.models.linear.forecasts import best_window
from forestall.prediction.models.semi_markov.forecast import (
    HostCurves,
    HostPast,
    Outlook,
    curves,
    foretold,
)
from forestall.prediction.models.semi_markov.learning import MONDAY, HostHistory, weekend
from forestall.prediction.models.semi_markov.states import (
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
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.prepare import rates_of, states_of, usable_of

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
