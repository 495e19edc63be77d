"""Brandt et al., "Quantifying Effectiveness of Failure Prediction and Response in HPC Systems".

Is active memory worth acting on before jobs fail? Figures 2 and 3 redrawn on generated machines of
the paper's size whose truth is known, the paper's own counts and significance, and each of its
claims beside what is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from forestall.assess.significance import permutation
from forestall.model.errors import TraceError
from forestall.show.style import new_figure
from forestall.traces.files.atomic import atomic_path
from forestall.traces.streams import stream
from studies.assessment import paper
from studies.assessment.claims import Claim, Played, evaluate
from studies.assessment.figures import write_figures
from studies.assessment.report import claims_table, machines_table, verdict
from studies.assessment.scenario import Machine, Plan, play, sample_of

__all__ = ["Plan", "Reproduction", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """What came out: where the files are, the files, the claims, and the machines behind them."""

    folder: Path
    files: tuple[Path, ...]
    claims: tuple[Claim, ...]
    played: Played


def reproduce(
    out: Path,
    *,
    plan: Plan | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Redo the paper's study and write it into the folder `out`.

    Parameters
    ----------
    out : folder for `claims.csv`, `machines.csv`, `verdict.md` and the figures
    plan : how much is played, and from which seed (default: all of it, from 1)
    progress : called with the number of machines done and of all

    Raises TraceError where `out` cannot be written to, MissingExtraError without Matplotlib.
    """
    new_figure()  # before anything is computed
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(out, f"cannot be a folder for results: {error.strerror}") from None
    chosen = plan or Plan()
    played = play_all(chosen, progress or (lambda done, total: None))
    claims = evaluate(played)
    figures = write_figures(folder, played, chosen.seed)
    texts = {
        "claims.csv": claims_table(claims).write_csv(),
        "machines.csv": machines_table(played).write_csv(),
        "verdict.md": verdict(played, claims),
    }
    written = []
    for name, text in texts.items():
        with atomic_path(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
        written.append(folder / name)
    return Reproduction(folder, (*figures, *written), claims, played)


def play_all(plan: Plan, progress: Callable[[int, int], None]) -> Played:
    """Return all machines of a plan; those of pairs and the small ones have seeds of their own."""
    seeds = stream(plan.seed, "assessment", "seeds").integers(0, 2**31, plan.repeats + plan.nulls)
    pairs, small = seeds[: plan.repeats].tolist(), seeds[plan.repeats :].tolist()
    done = 0

    def one(seed: int, nodes: int, period: int, relation: float) -> Machine:
        nonlocal done
        machine = play(seed, plan, nodes=nodes, period=period, relation=relation)
        done += 1
        progress(done, plan.steps)
        return machine

    main = one(plan.seed, plan.nodes, plan.period, 1.0)
    related = tuple(one(seed, plan.nodes, plan.repeat_period, 1.0) for seed in pairs)
    unrelated = tuple(one(seed, plan.nodes, plan.repeat_period, 0.0) for seed in pairs)
    nulls = tuple(one(seed, plan.null_nodes, plan.repeat_period, 0.0) for seed in small)
    scores, failed = sample_of(
        paper.CASES[0], paper.CASES[1], paper.AREA, stream(plan.seed, "assessment", "sample")
    )
    again = stream(plan.seed, "assessment", "sample", "permutation")
    sample = permutation(scores, failed, plan.draws, rng=again)
    progress(plan.steps, plan.steps)
    return Played(main, related, unrelated, nulls, sample)
