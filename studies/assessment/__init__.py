"""Brandt et al., "Quantifying Effectiveness of Failure Prediction and Response in HPC Systems".

Is active memory worth acting on before jobs fail? Figures 2 and 3 redrawn on generated machines of
the paper's size whose truth is known, the paper's own counts and significance, and each of its
claims beside what is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

import forestall as fs
from forestall import judge
from studies.assessment import paper
from studies.assessment.claims import WORDS, Played, evaluate
from studies.assessment.figures import NAMES, draw
from studies.assessment.scenario import Machine, Plan, play, sample_of
from studies.kit.claims import Claim, say_claims
from studies.kit.study import Reproduction, Results, Session, Study
from studies.kit.text import reasons, table, whys

__all__ = ["STUDY", "Plan"]

LEAD: Final = (
    "The logs of the paper's machine are not public. Machines of its size were generated instead, "
    "whose nodes lose memory to some jobs; the truth is known, so the method can be checked "
    "against it."
)
LOOP: Final = (
    "Means per machine. Saved: of the node-hours of jobs that memory kills without any action. "
    "Counted: the same, computed from the record of the machine without actions."
)
COUNTED: Final = (
    "The idle period before a node's first job counts, since a job follows it; the period after "
    "its last job does not."
)


def _read(data: Path | None, plan: Plan) -> int:
    """Return the seed: machines are generated, and nothing is read."""
    return plan.seed


def _play(session: Session[Plan, int]) -> Played:
    """Return all machines of a plan; those of pairs and the small ones have seeds of their own."""
    plan = session.plan
    drawn = fs.stream(plan.seed, "assessment", "seeds")
    seeds = drawn.integers(0, 2**31, plan.repeats + plan.nulls)
    pairs, small = seeds[: plan.repeats].tolist(), seeds[plan.repeats :].tolist()
    done = 0

    def one(seed: int, nodes: int, period: int, relation: float) -> Machine:
        nonlocal done
        machine = play(seed, plan, nodes=nodes, period=period, relation=relation)
        done += 1
        session.tell(done, plan.steps)
        return machine

    main = one(plan.seed, plan.nodes, plan.period, 1.0)
    related = tuple(one(seed, plan.nodes, plan.repeat_period, 1.0) for seed in pairs)
    unrelated = tuple(one(seed, plan.nodes, plan.repeat_period, 0.0) for seed in pairs)
    nulls = tuple(one(seed, plan.null_nodes, plan.repeat_period, 0.0) for seed in small)
    scores, failed = sample_of(
        paper.CASES[0], paper.CASES[1], paper.AREA, fs.stream(plan.seed, "assessment", "sample")
    )
    again = fs.stream(plan.seed, "assessment", "sample", "permutation")
    sample = judge.permutation(scores, failed, plan.draws, rng=again)
    session.tell(plan.steps - 1, plan.steps)
    loop = judge.play_policies(plan.loop)
    session.tell(plan.steps, plan.steps)
    return Played(plan.seed, main, related, unrelated, nulls, sample, loop.summary)


def machines_table(played: Played) -> pl.DataFrame:
    """Return one row for each generated machine."""
    groups = {
        "figures": (played.main,),
        "with": played.related,
        "without": played.unrelated,
        "small, without": played.nulls,
    }
    return pl.DataFrame(
        [{"machine": name} | one.row() for name, machines in groups.items() for one in machines]
    )


def policies_table(played: Played) -> pl.DataFrame:
    """Return one row for each policy of the closed loop; node-hours are a month's."""
    return pl.DataFrame(
        [{k: v for k, v in row.items() if not isinstance(v, list)} for row in
         played.loop["policies"]],
        infer_schema_length=None,
    )  # fmt: skip


def loop_rows(played: Played) -> list[tuple[str, ...]]:
    """Return what each policy saves, played and counted."""

    def told(value: float | None, unit: float, digits: int) -> str:
        return "" if value is None else f"{unit * value:,.{digits}f}"

    return [
        (
            one["policy"], told(one["saved_share"], 100, 0), told(one["actions"], 1, 0),
            told(one["waited_per_month_node_hours"], 1, 0),
            told(one["net_per_month_node_hours"], 1, 0),
            "{:,.0f} to {:,.0f}".format(*one["net_per_month_ci_node_hours"]),
            told(one["static_saved_share"], 100, 0), told(one["static_actions"], 1, 0),
        )
        for one in played.loop["policies"]
    ]  # fmt: skip


def beside_rows(played: Played) -> list[tuple[str, str, str]]:
    """Return (what, the paper's, ours) of the machine of the figures."""
    main = played.main
    value = main.periods.value[main.periods.considered]
    one, two, three = main.periods.counts()
    return [
        ("Case I", f"{paper.CASES[0]}", f"{one}"),
        ("Case II", f"{paper.CASES[1]}", f"{two}"),
        ("Case III", f"{paper.CASES[2]}", f"{three}"),
        ("Failed jobs", f"{paper.FAILED}", f"{main.truth.failed}"),
        ("Area", f"{paper.AREA}", f"{main.area.auc:.3f} ({main.area.low:.3f} to "
         f"{main.area.high:.3f})"),
        ("Random areas as high", f"{paper.EXCEED} of {paper.DRAWS}",
         f"{main.chance.exceed} of {main.chance.draws}"),
        ("Active memory in idle periods, mean", f"{paper.MEAN}", f"{value.mean():.3f}"),
        ("and its deviation", f"{paper.DEVIATION:.2f}", f"{value.std():.3f}"),
        ("Active memory from which 20 % are rebooted", f"{paper.THRESHOLD}",
         f"{main.threshold:.3f}"),
        ("Part of the gain at 20 %", f"about {paper.PART}", f"{main.part:.2f}"),
    ]  # fmt: skip


def headline(claims: Sequence[Claim]) -> str:
    """Return how many claims held."""
    count = Counter(claim.verdict for claim in claims)
    holds, partly, fails = (count[word] for word in WORDS)
    return f"Of {len(claims)} claims {holds} are confirmed, {partly} in part, {fails} not."


def _results(played: Played) -> Results:
    claims = evaluate(played)
    looped = table(
        ("Policy", "Saved, %", "Actions", "Jobs wait, node-hours a month",
         "Net, node-hours a month", "95 %", "Counted: saved, %", "Counted: actions"),
        loop_rows(played), right=(1, 2, 3, 4, 6, 7),
    )  # fmt: skip
    beside = table(("", "Paper", "Ours"), beside_rows(played))
    return Results(
        claims=claims,
        figures=draw(played, played.seed),
        captions=NAMES,
        tables={"machines": machines_table(played), "policies": policies_table(played)},
        sections={
            "Why claims come out so": reasons(whys(claims)),
            "The machine of the figures beside the paper's": (beside, fs.reports.Prose(COUNTED)),
            "Policies in a closed loop": (looped, fs.reports.Prose(LOOP)),
        },
        lead=LEAD,
        verdict=headline(claims),
    )


def _say(made: Reproduction[Any]) -> None:
    fs.screen.say(headline(made.claims))
    fs.screen.say()
    say_claims(made.claims)


STUDY: Final = Study(
    paper=paper.PAPER,
    title=paper.PAPER,
    full=Plan(),
    read=_read,
    play=_play,
    results=_results,
    say=_say,
)
