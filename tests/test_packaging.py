"""What would be published: a wheel that holds what it must and runs, links that are absolute."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import forestall

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://code.example.org/group/forestall"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist and the wheel, as `make dist` builds them."""
    for name in ("build", "hatchling"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
        capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "FORESTALL_REPOSITORY": REPOSITORY}, cwd=out,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.suffix: path for path in out.iterdir()}


def test_the_wheel_holds_what_it_must(built: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(built[".whl"]).namelist())
    source = ROOT / "src"
    there = {
        path.relative_to(source).as_posix()
        for path in (source / "forestall").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert there <= names, sorted(there - names)[:9]
    assert {"forestall/py.typed", "forestall/core/show/templates/page.html.j2"} <= names
    assert {name.partition("/")[0] for name in names} == {
        "forestall", f"forestall-{forestall.__version__}.dist-info"
    }  # fmt: skip


def test_the_sdist_builds_and_documents_itself(built: dict[str, Path]) -> None:
    with tarfile.open(built[".gz"]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {"hatch_build.py", "mkdocs.yml", "docs/index.md", "examples/README.md", "Makefile"}
    wanted |= {"Containerfile", "recipe/meta.yaml", "CHANGELOG.md", "CITATION.cff", "LICENSE"}
    assert wanted <= names, sorted(wanted - names)


def test_links_of_the_index_page_are_absolute(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built[".whl"]) as wheel:
        [name] = [one for one in wheel.namelist() if one.endswith("/METADATA")]
        text = wheel.read(name).decode()
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 30
    assert all(one.startswith("https://") for one in targets), targets
    assert f"({REPOSITORY}/raw/main/docs/images/worth.png)" in text
    assert f"Project-URL: Source, {REPOSITORY}" in text


def test_twine_takes_both(built: dict[str, Path]) -> None:
    pytest.importorskip("twine")
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.values())],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_installs_and_runs(built: dict[str, Path], tmp_path: Path) -> None:
    """In an environment of its own; what it needs of others is taken from this one."""
    venv.create(tmp_path / "fresh", with_pip=False, symlinks=True)
    python = tmp_path / "fresh" / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps",
         "--no-index", "--disable-pip-version-check", str(built[".whl"])],
        check=True, timeout=300,
    )  # fmt: skip
    [fresh] = (tmp_path / "fresh" / "lib").glob("python*/site-packages")
    others = [one for one in sys.path if one.endswith("site-packages")]
    (fresh / "others.pth").write_text("\n".join(others), encoding="utf-8")
    done = subprocess.run(
        [str(python.with_name("forestall")), "--version"], capture_output=True, text=True,
        check=False, timeout=120, env={"PATH": os.environ["PATH"]}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert forestall.__version__ in done.stdout
    where = subprocess.run(
        [str(python), "-c", "import forestall; print(forestall.__file__)"], capture_output=True,
        text=True, check=True, env={}, cwd=tmp_path,
    )  # fmt: skip
    assert where.stdout.startswith(str(fresh))


def test_the_conda_recipe_wants_what_the_package_wants() -> None:
    yaml = pytest.importorskip("yaml")
    from jinja2 import Environment

    source = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")

    def found(load_file: str, regex_pattern: str) -> re.Match[str] | None:
        return re.search(regex_pattern, (ROOT / load_file).read_text(encoding="utf-8"))

    told = yaml.safe_load(
        Environment().from_string(source).render(load_file_regex=found, PYTHON="python")
    )
    assert str(told["package"]["version"]) == forestall.__version__
    wanted = {str(Requirement(one)).replace(">=", " >=") for one in PROJECT["dependencies"]}
    run = set(told["requirements"]["run"]) - {"__linux"}
    assert run == wanted | {f"python {PROJECT['requires-python']}"}
    assert told["build"]["entry_points"] == ["forestall = forestall.runs.commands.entry:main"]


def test_the_container_runs_as_an_ordinary_user() -> None:
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    stages = [k for k, line in enumerate(lines) if line.startswith("FROM ")]
    assert len(stages) == 2
    last = lines[stages[-1] :]
    user = next(k for k, line in enumerate(last) if line.startswith("USER "))
    assert last[user] == "USER 10001:10001"
    assert not any(line.startswith(("RUN", "USER 0", "USER root")) for line in last[user + 1 :])
    copied = [w for line in lines if line.startswith("COPY ") and "--from" not in line
              for w in line.split()[1:-1]]  # fmt: skip
    assert copied
    assert all((ROOT / one).exists() for one in copied)
