"""What a metric is worth as a predictor of failed jobs, as JSON has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.study_folder import window_told
from forestall.core.kit.versions import of_fits
from forestall.prediction.assess.benefit import MONTH_HOURS
from forestall.prediction.judge.jobs.decision import ACT, decision, verdict
from forestall.reliability.report.fit.fit import finite

if TYPE_CHECKING:
    from forestall.prediction.assess.benefit import Band, Worth
    from forestall.prediction.assess.significance import AreaInterval
    from forestall.prediction.judge.jobs.judge import JobStudy

SHARES: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


def summary_of(found: JobStudy) -> dict[str, Any]:
    """Return everything as JSON has it; thresholds are as the metric has them."""
    asked, inputs, periods = found.asked, found.inputs, found.periods
    one, two, three = periods.counts()
    cores = asked.cores or inputs.cores() or 1
    summary: dict[str, Any] = {
        "verdict": "",
        "source": inputs.records.source,
        "metrics_source": inputs.metrics_source,
        "metric": inputs.metric,
        "side": asked.side,
        "value": asked.value,
        "window": window_told(inputs.begin, inputs.close, inputs.origin),
        "nodes": inputs.nodes,
        "cores_per_node": cores,
        "jobs": _jobs(found),
        "periods": {
            "case_1": one,
            "case_2": two,
            "case_3": three,
            "no_job_follows": len(periods) - one - two - three,
            "without_data": periods.without_data,
        },
        **_areas(found),
        "benefit": _benefit(found, cores),
        "rule": found.rule,
        "advised": False,
        "act_on": [inputs.name_of(node) for node in found.act_on()],
        "limit_nodes": asked.limit,
        "level": asked.level,
        "remarks": list(inputs.remarks),
        "parameters": {
            **found.told,
            "failed_states": asked.failed_states,
            "ignored_states": asked.ignored_states,
            "reboot_s": asked.reboot,
            "scale": asked.scale,
            "action_cost_node_hours": asked.action_cost,
            "price_per_node_hour": asked.price,
            "currency": asked.currency,
            "draws": asked.draws,
            "seed": asked.seed,
        },
        "versions": of_fits(),
    }
    plain: dict[str, Any] = finite(summary)
    plain |= {"verdict": verdict(plain), "decision": decision(plain)}
    plain["advised"] = plain["decision"] == ACT
    return plain


def _jobs(found: JobStudy) -> dict[str, Any]:
    records, asked = found.inputs.records, found.asked
    failed, judged = found.inputs.fates(asked.failed_states, asked.ignored_states)
    return {
        "all": len(records),
        "judged": int(judged.sum()),
        "failed": int((failed & judged).sum()),
        "attributed": int((found.periods.period >= 0).sum()),
        "states": records.counts(),
    }


def _areas(found: JobStudy) -> dict[str, Any]:
    chance = found.chance
    return {
        "auc": None if found.area is None else found.area.auc,
        "auc_ci": _ends(found.area),
        "auc_ci_by_node": _ends(found.area_by_node),
        "p_value": None if chance is None else chance.p_value,
        "p_value_by_node": None if found.area_by_node is None else found.area_by_node.p_better,
        "permutations": 0 if chance is None else chance.draws,
        "permutations_as_high": 0 if chance is None else chance.exceed,
    }


def _ends(area: AreaInterval | None) -> list[float] | None:
    return None if area is None else [area.low, area.high]


def _benefit(found: JobStudy, cores: int) -> dict[str, Any]:
    """Return the net benefit: at the best threshold, at the knee, at some shares, held out."""
    curve, asked = found.curve, found.asked
    top, always = float(curve.net.max()), float(curve.net[-1])
    return {
        "best": _worth(found, found.best, cores),
        "knee": None if found.knee is None else _worth(found, found.knee, cores),
        "held_out": _worth(found, found.held_out, cores),
        "highest_node_hours": top,
        "always_node_hours": always,
        "perfect_node_hours": float(found.ideal[1][-1]),
        "perfect_share": float(found.ideal[0][-1]),
        "at_shares": [
            {
                "share": share,
                "part_of_highest": curve.part_at(share),
                "net_node_hours": float(curve.net[curve.acted <= share * curve.occasions][-1]),
                **_at_share("at_random", found.band, share),
                **_at_share("no_relation", found.blind, share),
            }
            for share in SHARES
        ],
        "price_per_node_hour": asked.price,
        "currency": asked.currency,
    }


def _at_share(name: str, band: Band, share: float) -> dict[str, float]:
    """Return what acting on that share brings by chance, with its interval."""
    parts = (("node_hours", band.mean), ("low", band.low), ("high", band.high))
    return {f"{name}_{end}": float(np.interp(share, band.share, part)) for end, part in parts}


def _worth(found: JobStudy, one: Worth, cores: int) -> dict[str, Any]:
    asked = found.asked
    price = asked.price
    acts = np.isfinite(one.threshold)
    return {
        "threshold": asked.sign * one.threshold if acts else None,
        "acted": one.acted,
        "share_acted": one.acted / max(one.occasions, 1),
        "needless": one.needless,
        "missed": one.missed,
        "net_node_hours": one.net,
        "net_cpu_hours": one.net * cores,
        "per_month_node_hours": one.per_month,
        "per_month_ci_node_hours": [one.low, one.high],
        "at_random_per_month_node_hours": _by_chance(found, one, found.band),
        "no_relation_per_month_node_hours": _by_chance(found, one, found.blind),
        "no_relation_per_month_band_node_hours": [
            _by_chance(found, one, found.blind, end) for end in ("low", "high")
        ],
        "beats_no_relation": bool(
            one.net
            > np.interp(one.acted / max(one.occasions, 1), found.blind.share, found.blind.high)
        ),
        "per_month_money": None if price is None else one.per_month * price,
    }


def _by_chance(found: JobStudy, one: Worth, band: Band, what: str = "mean") -> float | None:
    """Return what acting as often by chance would save a month, or an end of its band; None of a
    part of the window."""
    if one.occasions != len(found.occasions):
        return None
    hours = (found.inputs.close - found.inputs.begin) / 3600
    saved = float(np.interp(one.acted / one.occasions, band.share, getattr(band, what)))
    return saved * MONTH_HOURS / hours
