"""Figures of a controller: right, few, without names, and there when parts are not."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from forestall.core.model.errors import InputError, LedgerError
from forestall.core.model.live.desk import JobOrder, QuoteQuestion, QuoteTold, Viewer
from forestall.live.ledger.rows import ROWS
from forestall.live.web.metrics.figures import RISKS, STATES, risk_of, state_of
from forestall.live.web.metrics.measured import MeasuredDesk
from forestall.live.web.metrics.mount import metrics_mount
from live.messages.message_cases import NOW
from live.web.metrics.metric_cases import COUNTS, QuotingDesk, node, told

ALICE = Viewer("alice", "user")
QUESTION = QuoteQuestion(4, 3600)


def values(text: str) -> dict[str, float]:
    found = re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_figures_of_the_cluster_and_the_ledger() -> None:
    desk = QuotingDesk(there=[
        node("n1", "IDLE", 0.9999), node("n2", "MIXED+DRAIN", 0.7),
        node("n3", "DOWN*", 0.5, up=False), node("n4", "IDLE~", None),
        node("n5", "STRANGE", 0.97), node("n6", "ALLOCATED+COMPLETING", 1.0),
    ])  # fmt: skip
    found = values(told(desk, messages=lambda: {("mail", "given up"): 2}))
    assert found['forestall_nodes{state="idle"}'] == 2
    assert found['forestall_nodes{state="mixed"}'] == 1
    assert found['forestall_nodes{state="down"}'] == 1
    assert found['forestall_nodes{state="other"}'] == 1
    assert found['forestall_nodes_at_risk{risk="below 0.1 %"}'] == 2
    assert found['forestall_nodes_at_risk{risk="20 % and more"}'] == 1
    assert found['forestall_nodes_at_risk{risk="1 to 5 %"}'] == 1
    assert found['forestall_nodes_at_risk{risk="unknown"}'] == 1
    assert found["forestall_look_age_seconds"] == 10
    assert found["forestall_cycle_seconds"] == 0.1
    assert found["forestall_cycles_total"] == 7
    assert found['forestall_role_switch{role="advisor",switch="on"}'] == 1
    assert found['forestall_role_switch{role="keeper",switch="on"}'] == 0
    assert found['forestall_ledger_rows_total{table="looks"}'] == 12
    assert found['forestall_looks_total{result="failed"}'] == 2
    assert found['forestall_intent_states_total{role="warden",state="carried_out"}'] == 4
    assert found['forestall_promises_ended_total{decile="0.9-1.0",outcome="missed"}'] == 1
    assert found['forestall_promises_kept_ratio{decile="0.9-1.0"}'] == 0.5
    assert found['forestall_promises_said_ratio{decile="0.9-1.0"}'] == 0.95
    assert found["forestall_calibration_error_ratio"] == pytest.approx(0.45)
    assert found['forestall_messages_total{result="given_up",way="mail"}'] == 2
    assert all(found[f'forestall_up{{part="{part}"}}'] == 1 for part in ("desk", "nodes", "ledger"))


def test_series_are_as_many_whatever_the_cluster() -> None:
    small, large = QuotingDesk(), QuotingDesk(there=[
        node(f"n{k}", f"STATE{k}", k / 2000) for k in range(2000)
    ])  # fmt: skip
    few, many = values(told(small)), values(told(large))
    assert set(few) == set(many)
    assert len(few) < 200
    text = told(large)
    assert not re.search(r"n\d+|alice|user|STATE", text.replace("users", ""))
    assert sum(many[f'forestall_nodes{{state="{state}"}}'] for state in STATES) == 2000


def test_text_is_as_prometheus_reads_it() -> None:
    families = list(text_string_to_metric_families(told(QuotingDesk())))
    assert len(families) > 20
    for one in families:
        assert one.name.startswith("forestall_")
        assert one.documentation.endswith(".")


def test_parts_that_do_not_answer_are_left_out_and_told() -> None:
    def gone(*_: object) -> None:
        raise LedgerError("ledger.db", "is not there")

    desk = QuotingDesk()
    found = values(told(desk, counts=gone))
    assert found['forestall_up{part="ledger"}'] == 0
    assert found['forestall_up{part="desk"}'] == 1
    assert not any(name.startswith("forestall_ledger_rows") for name in found)
    blind = QuotingDesk()
    seen = blind.cluster(Viewer("", "operator"))
    assert values(told(blind))['forestall_up{part="slurm"}'] == 1
    for more in ({"looked": seen.now - seen.fresh - 1}, {"looked": None}):
        blind.cluster = lambda _, more=more: replace(seen, **more)  # type: ignore[method-assign,misc]
        assert values(told(blind))['forestall_up{part="slurm"}'] == 0
    desk.nodes = gone  # type: ignore[method-assign,assignment]
    assert values(told(desk))['forestall_up{part="nodes"}'] == 0


def test_quotes_are_counted_by_what_came_of_them_and_timed() -> None:
    inner = QuotingDesk()
    ticks = iter(range(100))
    desk = MeasuredDesk(inner, lambda: 0.03 * next(ticks))  # type: ignore[arg-type]
    assert desk.quote(ALICE, QUESTION).offers
    inner.answer = QuoteTold(NOW, (), None, "too many nodes")
    desk.quote(ALICE, QUESTION)
    for error in (InputError("no"), LedgerError("x", "gone"), RuntimeError("bug")):
        inner.answer = error
        with pytest.raises(type(error)):
            desk.quote(ALICE, QUESTION)
        with pytest.raises(type(error)):
            desk.accept(ALICE, "0f", JobOrder("#!"))
    inner.answer = QuoteTold(NOW, ())
    desk.accept(ALICE, "0f", JobOrder("#!"))
    found = values(told(desk))
    assert found['forestall_quotes_total{result="offers"}'] == 1
    assert found['forestall_quotes_total{result="none"}'] == 1
    assert found['forestall_quotes_total{result="refused"}'] == 1
    assert found['forestall_quotes_total{result="failed"}'] == 2
    assert found['forestall_acceptances_total{result="promised"}'] == 1
    assert found["forestall_quote_seconds_count"] == 2
    assert found['forestall_quote_seconds_bucket{le="0.05"}'] == 2
    assert found['forestall_quote_seconds_bucket{le="0.025"}'] == 0


def test_the_route_answers_in_the_form_that_is_asked_for() -> None:
    app = FastAPI()
    desk = MeasuredDesk(QuotingDesk())  # type: ignore[arg-type]
    metrics_mount(desk, lambda: COUNTS)(app, None)  # type: ignore[arg-type]

    async def get(path: str, accept: str = "*/*") -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get(path, headers={"accept": accept})

    plain = asyncio.run(get("/metrics"))
    assert plain.headers["content-type"].startswith("text/plain")
    assert "forestall_up" in plain.text
    asked = asyncio.run(get("/metrics", "application/openmetrics-text"))
    assert asked.headers["content-type"].startswith("application/openmetrics-text")
    assert asked.text.endswith("# EOF\n")
    assert "/metrics" not in asyncio.run(get("/openapi.json")).json()["paths"]


@pytest.mark.parametrize(
    ("word", "state"),
    [("IDLE", "idle"), ("MIXED+DRAIN", "mixed"), ("DOWN*", "down"), ("", "other"), ("X", "other"),
     ("IDLE~", "idle"), ("ALLOCATED#+REBOOT", "allocated")],
)  # fmt: skip
def test_slurms_words(word: str, state: str) -> None:
    assert state_of(word) == state


def test_risks_are_half_open() -> None:
    assert risk_of(1.0) == RISKS[0][1]
    assert risk_of(0.0) == RISKS[-1][1]
    assert risk_of(0.5) == RISKS[-1][1]
    assert risk_of(None) == "unknown"


def test_every_table_of_the_ledger_is_counted() -> None:
    text = told(QuotingDesk())
    assert all(f'forestall_ledger_rows_total{{table="{kind.table}"}}' in text for kind in ROWS)
