"""The paper's claims, each beside what its test finds on every log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from studies.kit.claims import Claim, Finding, UntestableError, finding_of
from studies.kit.means import Floats
from studies.promises.claims import (
    BETWEEN,
    BETWEEN_REBUILT,
    CAREFUL,
    HOLDS,
    STARTS,
    accuracy_gain,
    accuracy_loss,
    below_rest,
    below_risk,
    careless_late,
    careless_middle,
    early_benefit,
    early_elsewhere,
    idle_or_lost,
    insensitive,
    less_lost_with_risk,
    levels,
    lost_low_accuracy,
    negated,
    nondecreasing,
    onset,
    perfect,
    ratio,
    together,
    user_gain,
    user_loss,
)  # fmt: skip
from studies.promises.inputs import NASA, REBUILT, SDSC
from studies.promises.surface import Surface


@dataclass(frozen=True)
class Asked:
    """A claim to test: its short name, the paper's section and words, the test of a log's grid, and
    why it comes out as it does.

    `only` is what the names of the logs begin with that it is about; a test of two logs is None.
    `follows` is a verdict that the model leaves no other way.
    """

    name: str
    section: str
    claim: str
    test: Callable[[Surface], Finding] | None
    why: str
    only: str = ""
    follows: str = ""


ASKED: Final = (
    Asked(
        "levels", "5.1", "QoS tends to be in the 0.9 to 1 range",
        levels,
        "Without prediction a job that a failure strikes is late, and its chance of that grows "
        "with its node-hours, by which QoS weighs it. The rate of the failures and the sizes of "
        "these jobs give such values for failures without any pattern; only failures in bursts "
        "give the paper's.",
    ),
    Asked(
        "qos_accuracy", "abstract, 5.1, 6", "prediction raises QoS by as much as 6 %",
        lambda s: accuracy_gain(s, "qos", 0.06),
        "There is more to gain: without prediction QoS is lower here than in the paper, since "
        "these failures hardly come in bursts and so strike more jobs. Gathered into bursts they "
        "give the paper's 6 % on SDSC.",
    ),
    Asked(
        "utilization_accuracy", "abstract, 5.1, 6", "and utilization by as much as 6 %",
        lambda s: accuracy_gain(s, "utilization", 0.06),
        "T ends with the last job. On NASA the machine is idle enough that the last arrivals "
        "decide T whatever fails; on SDSC jobs that never checkpoint without prediction are begun "
        "again and again, and the queue drains a month later.",
    ),
    Asked(
        "lost_accuracy", "abstract, 5.1, 6", "and cuts lost work by 89 %, a factor of 9",
        lambda s: accuracy_loss(s, 8 / 9),
        "Without prediction the risk rule (Equation 1) never checkpoints, so every struck job "
        "loses all it has done; with perfect prediction most failures are avoided.",
    ),
    Asked(
        "nasa_onset", "5.1", "NASA: no benefit to QoS until about a >= U",
        onset,
        "A predicted failure is avoided by choosing other nodes, which costs no delay and does not "
        "depend on what the user accepts; so prediction helps on a lightly loaded machine whatever "
        "U is.",
        only="NASA",
    ),
    Asked(
        "sdsc_early", "5.1", "SDSC: better QoS even at a = 0.1",
        early_benefit,
        "Every draw is compared with the one run without prediction, whose QoS depends on chance: "
        "begun a month later the same failures give another. Over many starts the mean gain is "
        "small and positive; single runs often lose.",
        only="SDSC",
    ),
    Asked(
        "careless_middle", "5.1", "SDSC: at low accuracies U = 0.1 gives the same QoS as U = 0.5",
        careless_middle,
        "Every promise is at least 1 - a. Up to a = 0.5 both kinds of users take each first offer, "
        "so that their runs are the same.",
        only="SDSC", follows=HOLDS,
    ),
    Asked(
        "careless_late", "5.1",
        "NASA: with U = 0.1 no benefit to QoS until a = 0.8, and then a negligible one",
        careless_late,
        "Placement avoids foreseen failures whatever users accept, as soon as any are foreseen.",
        only="NASA",
    ),
    Asked(
        "negated", "5.1",
        "much of the value of prediction is negated if users ignore the probability of success",
        negated,
        "Placement alone has most of the gain; waiting for a safer start adds the rest.",
    ),
    Asked(
        "idle_or_lost", "4.2",
        "careful users leave more nodes idle, and lose less work, than careless ones",
        idle_or_lost,
        "Nodes that lose less work have less to do again, which leaves more of them idle, too.",
    ),
    Asked(
        "qos_monotone", "5.1", "at U = 0.9 QoS is nondecreasing in a",
        lambda s: nondecreasing(s.qos[:, :, s.u(CAREFUL)]),
        "A higher a reveals more failures and so changes every later placement, and with it which "
        "unknown failures strike.",
    ),
    Asked(
        "lost_early", "5.1, Figure 6",
        "NASA: low accuracy cuts lost work with no effect on QoS or utilization",
        lost_low_accuracy,
        "Placement already avoids the first predicted failures, and that improves QoS too.",
        only="NASA",
    ),
    Asked(
        "together", "5.1", "better QoS comes with higher utilization and less lost work",
        together,
        "Redoing lost work delays jobs. But utilization can follow only where the last arrivals do "
        "not fix it.",
    ),
    Asked(
        "ratio", "5.1", "SDSC loses about 10 times the work of NASA",
        None,
        "The busier log meets more of the same failures. The ratio falls with a: little work is "
        "left to lose on either log, and chance decides.",
    ),
    Asked(
        "qos_users", "5.1, 6", "careful users (U 0.1 to 0.9, at a = 1) raise QoS by 4 %",
        lambda s: user_gain(s, "qos", 0.04),
        "Careful users wait until their nodes are predicted to survive.",
    ),
    Asked(
        "utilization_users", "5.1, 6", "and utilization by 3 %",
        lambda s: user_gain(s, "utilization", 0.03),
        "With perfect prediction, placement avoids most failures for careless users too; little is "
        "left to gain in utilization.",
    ),
    Asked(
        "lost_users", "5.1, 6", "and lose 9 times less work",
        lambda s: user_loss(s, 9),
        "Careless users still meet the failures that placement cannot avoid at the earliest start; "
        "careful users wait for a later start.",
    ),
    Asked(
        "lost_lower", "5.1, Figures 5 and 6", "with higher U less work is lost",
        less_lost_with_risk,
        "Waiting avoids what placement alone cannot. But a user who waits gets nodes with little "
        "or no predicted risk, so Equation 1 seldom takes a checkpoint, and an unforeseen failure "
        "costs the whole job. On the full SDSC machine the two cancel until nearly all failures "
        "are foreseen.",
    ),
    Asked(
        "qos_users_monotone", "5.2, Figure 8", "at a = 1 QoS tends to increase with U",
        lambda s: nondecreasing(s.qos[:, s.a(10), :]),
        "The trend holds; single steps depend on which job gets which nodes.",
    ),
    Asked(
        "perfect", "5.1", "at a = 1 and U = 1 QoS is 1",
        perfect,
        "With all failures known and only certainty accepted, no job is placed where one strikes "
        "it.",
        follows=HOLDS,
    ),
    Asked(
        "insensitive_words", "4.2, 5.2", "where a < U nothing varies with U",
        lambda s: insensitive(s, below_risk),
        "The sentence derives p_f < U from p_f <= a < U; but users look at p = 1 - p_f.",
    ),
    Asked(
        "insensitive_equation", "by Equation 3", "where a <= 1 - U nothing varies with U",
        lambda s: insensitive(s, below_rest),
        "Every promise is at least 1 - a, so a user who asks for no more takes the first offer, "
        "as one with U = 0 does.",
        follows=HOLDS,
    ),
)  # fmt: skip


def evaluate(surfaces: Mapping[str, Surface], elsewhere: Floats | None = None) -> tuple[Claim, ...]:
    """Return every claim with what was found on each log.

    `elsewhere` are the gains in QoS of SDSC at a = .1, float64[start, seed], with the year of
    failures begun at other times.
    """
    return tuple(
        Claim(
            one.name, one.claim, *found, section=one.section, where=log, why=one.why,
            rests=_rests(log, surfaces, elsewhere),
        )
        for one in ASKED
        for log, found in _findings(one, surfaces, elsewhere).items()
    )  # fmt: skip


def _rests(log: str, surfaces: Mapping[str, Surface], elsewhere: Floats | None) -> str:
    """Return on what a finding rests: draws of the predicted failures, and years of failures."""
    if log == STARTS and elsewhere is not None:
        starts, draws = elsewhere.shape
        return (
            f"{starts} starts of one year of failures, {draws} draws of the predicted failures each"
        )
    known = surfaces.get(log)
    draws = len(known.qos) if known is not None else min(len(s.qos) for s in surfaces.values())
    return f"{draws} draws of the predicted failures, one year of failures"


def _findings(
    one: Asked, surfaces: Mapping[str, Surface], elsewhere: Floats | None
) -> dict[str, Finding]:
    test = one.test
    if test is None:
        pairs = {BETWEEN: (SDSC, NASA), BETWEEN_REBUILT: (SDSC, REBUILT)}
        there = {k: pair for k, pair in pairs.items() if NASA in surfaces and SDSC in surfaces}
        return {
            k: finding_of(ratio, surfaces[a], surfaces[b], follows="")
            for k, (a, b) in there.items() if b in surfaces
        }  # fmt: skip
    found = {
        log: finding_of(lambda s: test(_struck(s)), s, follows=one.follows)
        for log, s in surfaces.items() if log.startswith(one.only)
    }  # fmt: skip
    if test is early_benefit and elsewhere is not None:
        found[STARTS] = finding_of(early_elsewhere, elsewhere, follows="")
    return found


def _struck(s: Surface) -> Surface:
    """Return a grid in which failures strike jobs; UntestableError where none does."""
    if not s.lost.any():
        raise UntestableError("no failure strikes a job")
    return s
