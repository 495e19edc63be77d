"""The availability study: its parts on hosts made by hand, and the way to the files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import TraceError
from forestall.prediction.models.semi_markov.learning import DAY, MONDAY, HostHistory
from forestall.prediction.models.semi_markov.states import stays
from studies.availability import QUICK, STUDY, study
from studies.availability.claims import accuracy, ahead, cheap, light, robust, statistics
from studies.availability.fits import by_powell, yule_walker
from studies.availability.inputs import (
    GENERATED_SET,
    Host,
    disturbed,
    generated,
    grid5000,
    of_history,
    planetlab,
)
from studies.availability.monitoring import watched
from studies.availability.study import LINEAR, PLAIN, SEMI_MARKOV, Plan

PLAN = replace(QUICK, period=60, days=28, lengths=(1, 3), hours=(9, 14))


def by_hand(days: int = 28, period: int = 60) -> Host:
    """A host that fails from 10:00 to 10:05 on every second weekday, and at no other time."""
    states = np.zeros(days * DAY // period, dtype=np.int8)
    for day in range(0, days, 2):
        if day % 7 < 5:
            at = (day * DAY + 10 * 3600) // period
            states[at : at + 300 // period] = 2
    return of_history("by hand", HostHistory(stays(states, period), MONDAY))


def test_windows_and_what_is_observed_in_them() -> None:
    host = by_hand()
    training, tests = study.split(host, False, 0.5)
    assert (len(training), len(tests)) == (10, 10)
    assert training.max() < tests.min()
    begins = study.inside(host, tests, 9, 1)
    state, stayed = study.available(host, begins, 60)
    assert state.tolist() == [0] * 10
    assert stayed.tolist() == [False, True] * 5 or sum(stayed) in (4, 5, 6)
    _, shorter = study.available(host, begins, 59)
    assert shorter.all()
    state, stayed = study.available(host, study.inside(host, tests, 10, 1), 0)
    assert np.array_equal(stayed, state == 0)


def test_a_host_of_habits_is_foretold_exactly_where_days_are_alike() -> None:
    rows = study.table(study.rows_of("x", 0, by_hand(), PLAN, 0.5, (SEMI_MARKOV, PLAIN)))
    quiet = rows.filter((pl.col("hour") == 14) | pl.col("weekend"))
    assert quiet["predicted"].to_list() == pytest.approx([1.0] * len(quiet))
    assert quiet["observed"].to_list() == [1.0] * len(quiet)
    risky = rows.filter((pl.col("hour") == 9) & ~pl.col("weekend"))
    assert all(0.3 < value < 0.7 for value in risky["predicted"])
    assert all(0.3 < value < 0.7 for value in risky["observed"])


def test_relative_errors_of_each_and_of_all_together() -> None:
    base = ("s", "m", 0, False, 9, 1.0, 0.5, 10)
    rows = study.table(
        [
            (*base, 0.9, 1.0, 1.0),
            (*base[:2], 1, *base[3:], 0.6, 0.5, 0.5),
            (*base[:2], 2, *base[3:], 0.1, 0.0, 0.0),
        ]
    )
    each = study.relative_errors(rows, each=True).row(0, named=True)
    assert each["error"] == pytest.approx((0.1 + 0.2) / 2)
    assert (each["cells"], each["left_out"]) == (2, 1)
    assert each["most"] == pytest.approx(0.2)
    whole = study.relative_errors(rows, each=False).row(0, named=True)
    assert whole["error"] == pytest.approx(abs(1.6 - 1.5) / 1.5)


def test_linear_models_follow_what_they_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = {"AR(8)", "MA(8)", "ARMA(8,8)", study.AR_SLIDES, study.MA_SLIDES}
    monkeypatch.setattr(  # the likeliest ones take a minute
        study, "linear_models", lambda training: dict.fromkeys(fitted, yule_walker(training, 2))
    )
    rows = study.table(study.linear_rows("x", 0, by_hand(), PLAN))
    assert set(rows["model"]) == set(LINEAR)
    assert set(rows["predicted"]) <= {0.0, 1.0} | set(np.round(rows["predicted"].to_numpy(), 12))
    last = rows.filter((pl.col("model") == "LAST") & (pl.col("hour") == 14))
    assert set(last.filter(pl.col("length_h") == 3.0)["predicted"]) == {1.0}  # 11:00 to 14:00
    longer = replace(PLAN, lengths=(6,))
    rows = study.table(study.linear_rows("x", 0, by_hand(), longer))
    last = rows.filter((pl.col("model") == "LAST") & (pl.col("hour") == 14) & ~pl.col("weekend"))
    assert 0.3 < last["predicted"][0] < 0.7  # 8:00 to 14:00 holds 10:00


def test_false_events_are_put_where_they_belong() -> None:
    host = by_hand()
    rng = np.random.default_rng(1)
    for count in (0, 1, 10):
        noisy = disturbed(host, 1, count, rng)
        before, after = (h.history.runs.sequence() for h in (host, noisy))
        changed = np.flatnonzero(before != after)
        runs = noisy.history.runs
        first, last = int(host.days[1]) + 480, int(host.days[1]) + 540
        assert np.all((changed >= first) & (changed < last))
        inside = (runs.start >= first) & (runs.start < last) & (runs.state == 2)
        assert int(inside.sum()) == count


def test_noise_is_none_without_events() -> None:
    rows = study.noise_table(study.noise_rows(by_hand(), 0, PLAN))
    none = rows.filter(pl.col("events") == 0)
    assert none["change"].to_list() == [0.0] * len(none)
    assert set(rows["model"]) == {SEMI_MARKOV, PLAIN}
    assert float(rows.filter(pl.col("model") == PLAIN)["change"].to_numpy().max()) > 0


def test_the_generated_hosts_have_the_statistics_of_the_slides() -> None:
    claim = statistics(generated(2, 91, 3, 6))
    assert claim.verdict == "confirmed"
    assert statistics([by_hand()]).verdict != "confirmed"


def test_claims_can_fail() -> None:
    def rows(model: str, predicted: float) -> list[tuple[object, ...]]:
        return [(GENERATED_SET, model, 0, kind, 9, 1.0, 0.5, 10, predicted, 0.8, 0.8)
                for kind in (False, True)]  # fmt: skip

    good = study.table([*rows(SEMI_MARKOV, 0.8), *rows(PLAIN, 0.5)])
    assert [c.verdict for c in accuracy(good)] == ["confirmed", "not confirmed"]
    linear = study.table(
        [*rows(SEMI_MARKOV, 0.75), *rows(PLAIN, 0.1)]
        + [row for model in LINEAR for row in rows(model, 0.7)]
    )
    assert [c.verdict for c in ahead(linear)] == ["confirmed", "not confirmed"]
    noise = study.noise_table(
        [(0, SEMI_MARKOV, 10, h, 0.05) for h in (1.0, 3.0)]
        + [(0, PLAIN, 10, h, 0.07) for h in (1.0, 3.0)]
    )
    assert [c.verdict for c in robust(noise)] == ["confirmed", "not confirmed"]
    for spent, verdict in ((0.01, "confirmed"), (1.0, "not confirmed")):
        assert cheap(pl.DataFrame({"length_h": [1.0], "seconds": [spent]})).verdict == verdict
    for watching, verdict in (
        ((0.002, 0.004), "confirmed"), ((0.02, 0.004), "confirmed in part"),
        ((0.02, 0.04), "not confirmed"), (None, "not measured"),
    ):  # fmt: skip
        assert light(watching, 60).verdict == verdict


def test_fits_as_the_slides_tell() -> None:
    rng = np.random.default_rng(5)
    noise = rng.standard_normal(20_003)
    ar = np.zeros(20_000)
    for k in range(2, len(ar)):
        ar[k] = 0.6 * ar[k - 1] + 0.2 * ar[k - 2] + noise[k]
    fitted = yule_walker(ar + 3, 2)
    assert fitted.ar == pytest.approx([0.6, 0.2], abs=0.02)
    assert fitted.mean == pytest.approx(3, abs=0.2)
    # The equations themselves: r_k = ar_1 r_(k - 1) + ar_2 r_(k - 2) for k = 1, 2.
    values = ar - ar.mean()
    r = [float(values[: len(values) - k] @ values[k:]) for k in range(3)]
    for k in (1, 2):
        assert fitted.ar[0] * r[abs(k - 1)] + fitted.ar[1] * r[abs(k - 2)] == pytest.approx(r[k])
    moved = noise[3:] + 0.5 * noise[2:-1] - 0.3 * noise[1:-2]
    least = by_powell(moved - 1, 2)
    assert least.ma == pytest.approx([0.5, -0.3], abs=0.03)
    assert least.variance == pytest.approx(1, abs=0.05)
    assert (least.orders, fitted.orders) == ((0, 2), (2, 0))
    still = np.full(50, 2.0)
    assert yule_walker(still, 2).forecast(still, 3).tolist() == [2.0, 2.0, 2.0]
    assert by_powell(still, 1).mean == 2.0


def test_a_short_watch_tells_what_monitoring_takes() -> None:
    told = watched(3)
    assert told is None or (told[0] < 2 and 0 < told[1] < 0.5)


def test_slices_of_planetlab_are_joined_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "planetlab-cpu"
    folder.mkdir()
    head = "vm," + ",".join(f"t{k:03d}" for k in range(288))
    for day in ("20110303", "20110309", "20110322", "20110325", "20110306"):  # the last: a Sunday
        lines = [head, "one," + ",".join(["10"] * 288)]
        if day != "20110303":
            lines.append("two," + ",".join(["90"] * 288))
        with gzip.open(folder / f"planetlab_{day}.csv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    hosts = planetlab(tmp_path, 10, 1)
    assert [host.name for host in hosts] == ["one"]
    assert hosts[0].days.tolist() == [0, 288, 576, 864]
    assert hosts[0].apart
    assert set(hosts[0].history.runs.state.tolist()) == {0}
    with pytest.raises(TraceError, match="planetlab-cpu"):
        planetlab(tmp_path / "none", 10, 1)
    with pytest.raises(TraceError, match="fta-grid5000"):
        grid5000(tmp_path, 10, 1)


@pytest.mark.slow
def test_grid5000_nodes_are_up_and_down(data: Path) -> None:
    hosts = grid5000(data, 5, 1)
    assert len(hosts) == 5
    share = np.mean([host.statistics.share[1] for host in hosts])
    assert 0.02 < share < 0.5  # of the whole set: 0.186
    assert hosts[0].history.names == ("up", "down")


@pytest.mark.slow
def test_all_of_it_twice(tmp_path: Path) -> None:
    plan: Plan = replace(PLAN, hosts=2, share_hosts=1, shares=(0.5,), noise_hosts=1)
    steps: list[tuple[int, int]] = []
    found = [
        STUDY.reproduce(
            tmp_path / str(k), plan=plan, progress=lambda done, of: steps.append((done, of))
        )
        for k in (1, 2)
    ]
    names = sorted(path.name for path in found[0].files)
    assert names == sorted(
        ["accuracy.csv", "linear.csv", "training.csv", "noise.csv", "cost.csv", "claims.csv",
         "claims.json", "verdict.md", "accuracy.png", "linear.png", "training.png", "noise.png"]
    )  # fmt: skip
    assert steps[-1][0] == steps[-1][1]
    for name in names:
        if name not in (
            "cost.csv",
            "claims.csv",
            "claims.json",
            "verdict.md",
        ):  # these hold measured times
            one, two = ((tmp_path / k / name).read_bytes() for k in "12")
            assert one == two, name
    told = json.loads((tmp_path / "1" / "claims.json").read_text())
    assert len(told["claims"]) == len(found[0].claims) == 9
    text = (tmp_path / "1" / "verdict.md").read_text()
    assert all(claim.measured in text for claim in found[0].claims)
