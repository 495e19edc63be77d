"""Grafana dashboards, made of tables of panels: of a controller's figures, and of a report's."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

WIDTH: Final = 24
"""Columns of Grafana's grid."""
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


class Panel(NamedTuple):
    """A panel: its title, its kind, its unit, and its lines: (query, legend)."""

    title: str
    kind: str
    unit: str
    lines: tuple[tuple[str, str], ...]
    width: int = 8
    height: int = 7


PANELS: Final = (
    Panel("Last read of the cluster", "stat", "s", (("forestall_look_age_seconds", ""),), 4, 4),
    Panel("Open promises", "stat", "none", (("forestall_promises_open", ""),), 4, 4),
    Panel("Proposals awaiting approval", "stat", "none", (("forestall_proposals_open", ""),), 4, 4),
    Panel("Calibration error", "stat", "percentunit", (("forestall_calibration_error_ratio", ""),),
          4, 4),
    Panel("Nodes in service", "stat", "none", (("forestall_nodes_in_service", ""),), 4, 4),
    Panel("Answers", "stat", "none", (("forestall_up", "{{part}}"),), 4, 4),
    Panel("Stated and observed, by stated probability", "bargauge", "percentunit",
          (("forestall_promises_said_ratio", "{{decile}} stated"),
           ("forestall_promises_kept_ratio", "{{decile}} kept"))),
    Panel("Outcomes of promises per day", "timeseries", "none",
          (("sum by (outcome) (increase(forestall_promises_ended_total[1d]))", "{{outcome}}"),
           ("sum(increase(forestall_promises_made_total[1d]))", "made"))),
    Panel("Quotes and acceptances per minute", "timeseries", "none",
          (("60 * sum by (result) (rate(forestall_quotes_total[5m]))", "quotes: {{result}}"),
           ("60 * sum by (result) (rate(forestall_acceptances_total[5m]))", "taken: {{result}}"))),
    Panel("Time per quote", "timeseries", "s",
          tuple((f"histogram_quantile({q}, sum by (le) (rate(forestall_quote_seconds_bucket[5m])))",
                 f"{100 * q:.0f} %") for q in (0.5, 0.95))),
    Panel("Nodes by state", "timeseries", "none", (("forestall_nodes", "{{state}}"),)),
    Panel("Nodes in service by risk within 24 h", "timeseries", "none",
          (("forestall_nodes_at_risk", "{{risk}}"),)),
    Panel("Jobs and busy nodes", "timeseries", "none",
          (("forestall_cluster_jobs", "{{state}} jobs"), ("forestall_nodes_busy", "busy nodes"))),
    Panel("Actions per hour", "timeseries", "none",
          (("sum by (role, state) (increase(forestall_intent_states_total[1h]))",
            "{{role}}: {{state}}"),)),
    Panel("Switches", "stat", "none", (("forestall_role_switch == 1", "{{role}}: {{switch}}"),)),
    Panel("Reads of the cluster per minute", "timeseries", "none",
          (("60 * sum by (result) (rate(forestall_looks_total[5m]))", "{{result}}"),)),
    Panel("Cycles", "timeseries", "s",
          (("forestall_cycle_seconds", "takes"), ("1 / rate(forestall_cycles_total[5m])", "every"),
           ("time() - forestall_clock_timestamp_seconds", "clock is behind by"))),
    Panel("Ledger rows per hour", "timeseries", "none",
          (("sum by (table) (increase(forestall_ledger_rows_total[1h]))", "{{table}}"),)),
    Panel("Messages per day", "timeseries", "none",
          (("sum by (way, result) (increase(forestall_messages_total[1d]))", "{{way}}: {{result}}"),
           )),
)  # fmt: skip


UPPER: Final = '{bound="upper"}'
REPORT_PANELS: Final = (
    Panel("Node-hours used", "stat", "none",
          (("forestall_capacity_used_node_seconds / 3600", ""),), 6, 4),
    Panel("MTTF of a node", "stat", "s", (("forestall_node_mttf_seconds", ""),), 6, 4),
    Panel("Lemons", "stat", "none", (("forestall_lemon_nodes", ""),), 6, 4),
    Panel("Age of the newest record", "stat", "s",
          (("time() - forestall_report_window_end_timestamp_seconds", ""),), 6, 4),
    Panel("Node-hours by how runs ended", "timeseries", "none",
          ((f"forestall_job_time_by_cause_node_seconds{UPPER} / 3600", "{{cause}}"),), 12),
    Panel("Failures per 1,000 node-days, 95 % interval", "timeseries", "none",
          tuple((f"forestall_node_failure_rate{end}_per_node_second * 86400000", legend)
                for end, legend in (("", "rate"), ("_low", "low"), ("_high", "high"))), 12),
    Panel("Best checkpoint interval, by nodes of a run", "timeseries", "s",
          (("forestall_best_checkpoint_interval_seconds", "{{nodes}} nodes"),), 12),
    Panel("Savings of the advice, node-hours", "timeseries", "none",
          (("forestall_advice_saves_node_seconds / 3600", "{{kind}} {{nodes}}"),), 12),
)  # fmt: skip
"""What `forestall report --openmetrics` writes."""


def dashboard() -> str:
    """Return the dashboard of a controller as Grafana imports it."""
    return _dashboard(
        PANELS, "forestall", "forestall", "Promises on a Slurm cluster, and how they were kept"
    )


def report_dashboard() -> str:
    """Return the dashboard of a site's reports as Grafana imports it."""
    return _dashboard(
        REPORT_PANELS, "forestall-report", "forestall: site report",
        "A site's records, as written by forestall report for Prometheus",
    )  # fmt: skip


def _dashboard(panels: tuple[Panel, ...], uid: str, title: str, description: str) -> str:
    told = {
        "uid": uid,
        "title": title,
        "description": description,
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "",
        "tags": ["forestall", "slurm"],
        "templating": {
            "list": [
                {"name": "datasource", "label": "Prometheus", "type": "datasource",
                 "query": "prometheus", "current": {}, "hide": 0}
            ]
        },
        "panels": _panels(panels),
    }  # fmt: skip
    return json.dumps(told, indent=2) + "\n"


def _panels(panels: tuple[Panel, ...]) -> list[dict[str, Any]]:
    """Return the panels, side by side until a row is full."""
    made, x, y, tallest = [], 0, 0, 0
    for number, one in enumerate(panels, 1):
        if x + one.width > WIDTH:
            x, y, tallest = 0, y + tallest, 0
        place = {"x": x, "y": y, "w": one.width, "h": one.height}
        made.append(_panel(number, one, place))
        x, tallest = x + one.width, max(tallest, one.height)
    return made


def _panel(number: int, one: Panel, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + k), "expr": query, "legendFormat": legend, "datasource": SOURCE,
         "instant": one.kind != "timeseries", "range": one.kind == "timeseries"}
        for k, (query, legend) in enumerate(one.lines)
    ]  # fmt: skip
    return {
        "id": number,
        "title": one.title,
        "type": one.kind,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": one.unit, "min": 0}, "overrides": []},
        "options": {},
    }
