"""`forestall fit` as users call it: what it prints, its JSON, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from core.commands.calls import call
from forestall.reliability.lifetimes.registry import FAMILIES

Capsys = pytest.CaptureFixture[str]
KEYS = {
    "family", "params", "loglik", "ci", "level", "ci_method", "standard_errors", "mean", "aic",
    "aicc", "bic", "ks", "ad", "gaps", "failures", "censored", "zeros", "converged", "notes",
    "left_out",
}  # fmt: skip


def gap_file(path: Path, gaps: Any, censored: Any = None) -> Path:
    rows = [f"{gap!r}" for gap in np.asarray(gaps).tolist()]
    if censored is not None:
        rows = [f"{row},{int(flag)}" for row, flag in zip(rows, censored, strict=True)]
    head = "gap" if censored is None else "gap,censored"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


@pytest.fixture
def weibull(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    life, end = 100 * rng.weibull(0.7, 400), rng.exponential(300, 400)
    return gap_file(tmp_path / "gaps.csv", np.minimum(life, end), life > end)


def read(path: Path) -> tuple[Any, Any]:
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    return table[:, 0], table[:, 1] == 1


def answer(capsys: Capsys, *arguments: object) -> dict[str, Any]:
    done = call(capsys, "fit", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    assert "NaN" not in done.out
    assert "Infinity" not in done.out
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_one_family_as_json(weibull: Path, capsys: Capsys) -> None:
    found = answer(capsys, weibull, "--family", "weibull")
    assert set(found) == KEYS
    gap, censored = read(weibull)
    shape, scale = found["params"]["shape"], found["params"]["scale"]
    law = stats.weibull_min(shape, scale=scale)
    loglik = law.logpdf(gap[~censored]).sum() + law.logsf(gap[censored]).sum()
    assert found["loglik"] == pytest.approx(loglik, rel=1e-9)
    trusted = stats.weibull_min.fit(stats.CensoredData.right_censored(gap, censored), floc=0)
    assert (shape, scale) == pytest.approx((trusted[0], trusted[2]), rel=1e-3)
    assert found["mean"] == pytest.approx(law.mean(), rel=1e-9)
    assert found["aic"] == pytest.approx(4 - 2 * loglik)
    assert found["bic"] == pytest.approx(2 * np.log(400) - 2 * loglik)
    counts = {"gaps": 400, "failures": int((~censored).sum()), "censored": int(censored.sum())}
    assert {name: found[name] for name in counts} == counts
    for name, true in (("shape", 0.7), ("scale", 100.0), ("mean", 100 * 1.26582)):
        low, high = found["ci"][name]
        assert low < true < high
    assert (found["level"], found["ci_method"]) == (0.95, "likelihood")
    assert set(found["standard_errors"]) == {"shape", "scale"}


def test_levels_and_methods_of_intervals(weibull: Path, capsys: Capsys) -> None:
    base = (weibull, "--family", "weibull")
    wide = answer(capsys, *base, "--level", 0.99)["ci"]["shape"]
    narrow = answer(capsys, *base, "--level", 0.5)["ci"]["shape"]
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    wald = answer(capsys, *base, "--ci", "wald")
    drawn = answer(capsys, *base, "--ci", "bootstrap", "--draws", 199)
    plain = answer(capsys, *base)["ci"]
    for other in (wald, drawn):
        assert other["params"] == answer(capsys, *base)["params"]
        assert other["ci"]["shape"] == pytest.approx(plain["shape"], rel=0.1)
        assert other["ci"]["shape"] != plain["shape"]
    again = answer(capsys, *base, "--ci", "bootstrap", "--draws", 199)
    other = answer(capsys, *base, "--ci", "bootstrap", "--draws", 199, "--seed", 2)
    assert again == drawn
    assert other["ci"] != drawn["ci"]


def test_all_families_are_ranked(tmp_path: Path, capsys: Capsys) -> None:
    gaps = np.random.default_rng(3).lognormal(3, 1.2, 600)
    found = answer(capsys, gap_file(tmp_path / "g.csv", gaps))
    assert set(found) == {"ranked_by", "best", "families"}
    assert found["ranked_by"] == "aic"
    names = [row["family"] for row in found["families"]]
    assert sorted(names) == sorted(FAMILIES)
    fitted = [row for row in found["families"] if row["why"] is None]
    scores = [row["aic"] for row in fitted if not row["unbounded"]]
    assert scores == sorted(scores)
    assert found["best"]["family"] == names[0]
    assert set(found["best"]) == KEYS
    assert sum(row["weight"] for row in fitted) == pytest.approx(1)
    better = next(row for row in fitted if row["family"] == "lognormal")
    assert better["aic"] - scores[0] < 4
    needed = {"family", "params", "loglik", "aic", "aicc", "bic", "ks", "ad", "weight", "why"}
    assert all(needed <= set(row) for row in found["families"])


@pytest.mark.parametrize("by", ["bic", "loglik", "ks", "ad"])
def test_the_order_of_the_ranking(by: str, weibull: Path, capsys: Capsys) -> None:
    found = answer(capsys, weibull, "--rank-by", by)
    bounded = [row for row in found["families"] if row["why"] is None and not row["unbounded"]]
    scores = [row[by] for row in (bounded if by in ("bic", "loglik") else found["families"])]
    scores = [float("inf") if score is None else score for score in scores]
    scores = [-score for score in scores] if by == "loglik" else scores
    assert scores == sorted(scores)
    assert found["best"]["family"] == found["families"][0]["family"]


def test_p_values(tmp_path: Path, capsys: Capsys) -> None:
    gaps = gap_file(tmp_path / "g.csv", np.random.default_rng(1).weibull(0.5, 150))
    base = (gaps, "--p-values", "--draws", 99)
    wrong = answer(capsys, *base, "--family", "exponential")
    right = answer(capsys, *base, "--family", "weibull")
    assert wrong["ks_p"] <= 0.02
    assert wrong["ad_p"] <= 0.02
    assert right["ks_p"] > 0.05
    assert set(right) == KEYS | {"ks_p", "ad_p", "draws"}
    text = " ".join(call(capsys, "fit", *base, "--family", "exponential").out.split())
    assert "do not follow this distribution" in text


def test_zeros(tmp_path: Path, capsys: Capsys) -> None:
    gaps = np.round(np.random.default_rng(2).exponential(5.0, 200))
    zeros = int((gaps == 0).sum())
    assert zeros > 5
    file = gap_file(tmp_path / "g.csv", gaps)
    told = {
        how: answer(capsys, file, "--family", "exponential", "--zeros", how)
        for how in ("auto", "censored", "exact", "drop")
    }
    assert told["auto"]["params"] == told["exact"]["params"]
    assert told["exact"]["params"]["scale"] == pytest.approx(gaps.mean())
    assert told["drop"]["params"]["scale"] == pytest.approx(gaps[gaps > 0].mean())
    assert told["drop"]["gaps"] == 200 - zeros
    assert all(one["zeros"] == zeros and one["notes"] for one in told.values())
    fine = answer(capsys, file, "--family", "weibull", "--resolution", 0.5)
    assert fine["params"] != answer(capsys, file, "--family", "weibull")["params"]
    assert "0.5" in " ".join(fine["notes"])


def test_the_tables(weibull: Path, capsys: Capsys) -> None:
    for options in ((), ("--family", "burr"), ("--p-values", "--draws", 19, "--family", "weibull")):
        done = call(capsys, "fit", weibull, "--unit", "h", *options)
        assert (done.code, done.err) == (0, "")
        assert max(len(line) for line in done.out.splitlines() if "  " in line) <= 100
        assert "400 gaps (in h)" in done.out
        assert "mean (h)" in done.out
    assert "95 % interval" in done.out


def test_bad_rows_are_left_out_and_counted(tmp_path: Path, capsys: Capsys) -> None:
    file = tmp_path / "g.csv"
    file.write_text("gap,censored,node\n5,0,a\nx,0,b\n7,0,c\n-3,0,d\n9,maybe,e\n12,1,f\n8,0,g\n")
    found = answer(capsys, file, "--family", "weibull")
    assert found["gaps"] == 4
    assert sum(found["left_out"].values()) == 3
    assert "left out" in call(capsys, "fit", file, "--family", "weibull").out
    strict = call(capsys, "fit", file, "--family", "weibull", "--strict")
    assert (strict.code, strict.err.count("\n")) == (2, 1)
    assert "g.csv:3" in strict.err


BAD: dict[str, tuple[str, tuple[object, ...], str]] = {
    "no column": ("time\n5\n", (), "gap"),
    "empty": ("", (), "empty"),
    "header only": ("gap\n", (), "no gaps"),
    "all censored": ("gap,censored\n5,1\n6,1\n", ("--family", "weibull"), "gap"),
    "all censored, ranked": ("gap,censored\n5,1\n6,1\n", (), "gap"),
    "all zero": ("gap\n0\n0\n0\n", (), "above 0"),
    "all equal": ("gap\n5\n5\n5\n", ("--family", "weibull"), "same time"),
    "no numbers": ("gap\nsoon\n", (), "soon"),
    "no family": ("gap\n5\n6\n", ("--family", "wibull"), "weibull"),
    "level": ("gap\n5\n6\n", ("--level", 1.5), "--level"),
    "draws": ("gap\n5\n6\n", ("--draws", 3), "--draws"),
    "resolution": ("gap\n0\n6\n", ("--resolution", -1), "resolution"),
    "zeros": ("gap\n0\n6\n7\n", ("--family", "gamma", "--zeros", "exact"), "zeros"),
    "plot": ("gap\n5\n6\n", ("--plot", "fit.txt"), "fit.txt"),
    "plot folder": ("gap\n5\n6\n", ("--plot", "nowhere/fit.png"), "nowhere"),
    "seed": ("gap\n5\n6\n", ("--seed", -1), "--seed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name: str, tmp_path: Path, capsys: Capsys) -> None:
    content, options, says = BAD[name]
    file = tmp_path / "gaps.csv"
    file.write_text(content)
    done = call(capsys, "fit", file, *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert says in done.err
    assert "Traceback" not in done.err


def test_no_file(tmp_path: Path, capsys: Capsys) -> None:
    done = call(capsys, "fit", tmp_path / "no.csv")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_the_figure(weibull: Path, tmp_path: Path, capsys: Capsys) -> None:
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    for path in (first, second):
        done = call(capsys, "fit", weibull, "--family", "weibull", "--plot", path)
        assert (done.code, done.err) == (0, "")
        assert str(path) in done.out
    assert first.read_bytes().startswith(b"\x89PNG")
    assert first.read_bytes() == second.read_bytes()


def test_two_gaps_are_enough(tmp_path: Path, capsys: Capsys) -> None:
    file = gap_file(tmp_path / "g.csv", [3.0, 8.0])
    assert answer(capsys, file, "--family", "exponential")["params"]["scale"] == pytest.approx(5.5)
    assert answer(capsys, file)["best"]["gaps"] == 2


def test_nothing_heavy_is_loaded(weibull: Path) -> None:
    script = (
        "import sys; from forestall.runs.commands.entry import main\n"
        f"main(['fit', {str(weibull)!r}, '--family', 'weibull']); print('MODULES', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "shape" in done.stdout
    loaded = set(done.stdout.split("MODULES")[1].split())
    assert not {"numba", "scipy.stats", "scipy.optimize", "matplotlib", "pandas"} & loaded


def test_nothing_is_said_twice(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("gap,censored\n5,1\n6,1\n")
    done = call(capsys, "fit", path)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert done.err.startswith(f"forestall: {path}: gaps: '2 gaps, none of which ended'")
    assert len(done.err) < 120 + len(str(path))
    path.write_text("gap\n5\n")
    done = call(capsys, "fit", path)
    assert done.out.startswith("1 gap, ")
    assert done.out.count("not fitted") == 1
    assert "weibull, weibull-3p, gamma" in done.out


def test_other_columns_get_one_quiet_remark(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("gap,node,begin,end\n5,1,0,5\n7,1,5,12\n")
    assert "column" not in call(capsys, "fit", path, "--family", "weibull").out
    path.write_text("gap,colour,size\n5,red,2\n7,blue,3\n")
    out = call(capsys, "fit", path, "--family", "weibull").out
    assert out.count("2 columns beside gap and censored") == 1
