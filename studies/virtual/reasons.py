"""Why the claims come out as they do, in words."""

from __future__ import annotations

from typing import Final

WHY: Final[dict[str, str]] = {
    "once": (
        "Random-select with hourly checkpoints, so that tasks that were hit go on. A second failure"
        " is as likely as any failure in the rest of the run, so its share grows with the rate."
    ),
    "cheap": (
        "12 s are 0.04 % of the mean run time, and few tasks move: most are placed where no "
        "failure is foreseen."
    ),
    "best-fit over first-fit": (
        "Every task gets a whole processor or waits, so that the roomiest node is no quicker than "
        "another, and both strategies choose among the nodes foreseen to outlive the deadline. "
        "Best-fit leaves the nodes that live longest to the tasks that last longest: that shows in "
        "work, hardly in numbers, since few tasks are long."
    ),
    "first-fit over random": (
        "The sign holds at every rate, the size is what failures hit at all: at the paper's rate a "
        "fifth of a point of the jobs."
    ),
    "best-fit over random": "As for first-fit.",
    "sensitive": (
        "Predictions that come early warn of every failure, however wrong they are. Late ones "
        "miss, and best-fit is hurt most: it chooses the node whose failure is foreseen soonest "
        "after the deadline. The paper's predictions all come early (Section 7), so that two of its"
        " statements do not go together here."
    ),
    "bad predictions": (
        "At accuracy 0 early predictions make a node doubtful for three quarters of the time "
        "between its failures; the rest of a machine loaded to 0.3 still serves most tasks. With "
        "predictions that may come late best-fit at accuracy 0 is worse than choosing blindly."
    ),
    "rising": "Where there are steps at all, they go up.",
    "level": (
        "The level is set by what else stops jobs: load, and tasks that do not fit evenly into "
        "nodes. Where the paper's number comes out it does so without a single failure, and says "
        "nothing about prediction."
    ),
    "above the log": (
        "10.5 % of the jobs are 11,808: 38 for each of the 307 failures, on nodes of 4 processors. "
        "27 % of the log's jobs were killed by failures or errors of any kind; a tenth of all jobs "
        "dies of node failures only at 300 times their number. But where tasks do not fit evenly "
        "into nodes, random-select gives some of them too little to meet their deadline, and "
        "choosing by capacity gains as much without a single failure."
    ),
    "lead over random": (
        "The tasks that failures hit are the long ones: few in number, much in work. Counted in "
        "work the lead comes out, at many times the paper's failures; counted in tasks it does not."
    ),
    "lead over first-fit": (
        "Nothing that was tried tells the two apart by that much: not the rate, the load, the "
        "deadlines, the width of tasks, nor predictions that come late, with which first-fit leads."
    ),
    "unreliable nodes": (
        "alpha = 0.5 prefers the node whose failure is foreseen soonest after the deadline; nodes "
        "without one come last. With failures every few hours hardly any such node outlives a "
        "deadline."
    ),
    "network, accuracy": (
        "The paper does not define its accuracy; none of these definitions comes near. Half of the "
        "forecasts come later than the failure; the failures without one are the first that a "
        "node's log has."
    ),
    "network, gain": (
        "A forecast that comes late is a miss, and best-fit puts its tasks just before it. All "
        "seeds share one year of failures here: the intervals are those of jobs alone."
    ),
}
