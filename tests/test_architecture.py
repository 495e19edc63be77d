"""The house: import directions, a middle without clocks, chance or files, and sizes of things."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "forestall"
PURE = (
    "core/model", "core/engine", "reliability/checkpoints", "reliability/fits",
    "reliability/history", "reliability/lifetimes", "reliability/nodes", "reliability/queues",
    "reliability/systems", "prediction/models", "prediction/assess", "vaults/rules",
    "scheduling/rules", "scheduling/engine", "scheduling/futures", "machines/rules",
    "machines/engine", "sharing/rules", "sharing/engine", "slurm/cluster", "slurm/records",
    "site/learning",
)  # fmt: skip
MODULES = sorted(PACKAGE.rglob("*.py"))
BIG_FUNCTION, BIG_MODULE, MANY_PARAMETERS = 60, 500, 10
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc", "stuff", "tools"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def where(path: Path, node: ast.AST | None = None) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def pure_modules() -> list[Path]:
    return [path for room in PURE for path in sorted((PACKAGE / room).rglob("*.py"))]


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, Function):
            yield node


def test_import_directions() -> None:
    pytest.importorskip("importlinter")
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_pure_room_is_in_the_contract() -> None:
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all((PACKAGE / room / "__init__.py").is_file() for room in PURE)
    rooms = [room.replace("/", ".") for room in PURE]
    missing = [room for room in rooms if f'"forestall.{room}",' not in contracts]
    assert not missing, f"add to the contract 'pure' in pyproject.toml: {missing}"


def test_every_kernel_module_is_known_to_the_type_checker() -> None:
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in MODULES
        if path.stem.endswith("_kernels")
    ]
    missing = [name for name in names if f'"{name}",' not in settings]
    assert not missing, f"add to the overrides of mypy in pyproject.toml: {missing}"


# What import-linter cannot see -------------------------------------------------------------------

BANNED_CALLS = {"open", "print", "input", "breakpoint", "eval", "exec"}
BANNED_ATTRIBUTES = {
    ("time", "time"),
    ("time", "monotonic"),
    ("time", "perf_counter"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("np", "load"),
    ("np", "save"),
    ("np", "fromfile"),
    ("np", "loadtxt"),
    ("np", "genfromtxt"),
}
RANDOM_TYPES = {"Generator", "BitGenerator"}
ORDER_KEEPING = {"list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "reversed"}


def is_set(node: ast.AST) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"set", "frozenset"}
    return isinstance(node, ast.BinOp) and (is_set(node.left) or is_set(node.right))


def is_np_random(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "random"
        and isinstance(node.value, ast.Name)
        and node.value.id in {"np", "numpy"}
    )


def impurity_of_call(node: ast.Call) -> str | None:
    function = node.func
    if isinstance(function, ast.Name):
        if function.id in BANNED_CALLS:
            return f"{function.id}()"
        if function.id in ORDER_KEEPING and any(is_set(argument) for argument in node.args):
            return f"{function.id}() of a set: its order is not fixed"
    is_join = isinstance(function, ast.Attribute) and function.attr == "join"
    if is_join and any(is_set(argument) for argument in node.args):
        return "join of a set: its order is not fixed"
    return None


def impurity(node: ast.AST) -> str | None:
    """Return what is wrong with one node of the tree, if anything."""
    if isinstance(node, ast.Call):
        return impurity_of_call(node)
    if isinstance(node, ast.Attribute):
        if is_np_random(node.value) and node.attr not in RANDOM_TYPES:
            return f"np.random.{node.attr}"
        if isinstance(node.value, ast.Name) and (node.value.id, node.attr) in BANNED_ATTRIBUTES:
            return f"{node.value.id}.{node.attr}"
    if isinstance(node, ast.For | ast.comprehension) and is_set(node.iter):
        return "iteration over a set: its order is not fixed"
    return None


def impurities(tree: ast.AST) -> list[tuple[ast.AST, str]]:
    found = ((node, impurity(node)) for node in ast.walk(tree))
    return [(node, what) for node, what in found if what is not None]


def test_the_middle_is_pure() -> None:
    found = [
        f"{where(path, node)}: {what}"
        for path in pure_modules()
        for node, what in impurities(parsed(path))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "np.random.default_rng(1)",
        "x = np.random.random()",
        "numpy.random.seed(0)",
        "open('f')",
        "print(1)",
        "input()",
        "time.time()",
        "datetime.now()",
        "for x in {1, 2}: pass",
        "[x for x in set(y)]",
        "[x for x in set(y) | z]",
        "list({'a', 'b'})",
        "','.join(set(names))",
    ],
)
def test_impurity_is_seen(text: str) -> None:
    assert impurities(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "def f(rng: np.random.Generator) -> float: return rng.random()",
        "for x in sorted({1, 2}): pass",
        "len(set(y))",
        "NodeSet.of(set(a) & set(b))",
        "datetime.fromisoformat(text)",
    ],
)
def test_pure_code_passes(text: str) -> None:
    assert not impurities(ast.parse(text))


# Sizes, names and words --------------------------------------------------------------------------


def undocumented(path: Path) -> list[str]:
    return [] if ast.get_docstring(parsed(path)) else [f"{where(path)}: no docstring"]


def long_module(path: Path) -> list[str]:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    return [f"{where(path)}: {lines} lines"] if lines > BIG_MODULE else []


def long_functions(path: Path) -> list[str]:
    found = []
    for function in functions(path):
        lines = (function.end_lineno or 0) - function.lineno + 1
        first = function.body[0]
        if ast.get_docstring(function) is not None:
            lines -= (first.end_lineno or 0) - first.lineno + 1
        if lines > BIG_FUNCTION:
            found.append(f"{where(path, function)}: {function.name} has {lines} lines")
    return found


def many_parameters(path: Path) -> list[str]:
    if {"commands", "public"} & set(path.relative_to(PACKAGE).parts[:-1]):
        return []  # a command, and the function of its name, have as many options as they have
    found = []
    for function in functions(path):
        given = function.args
        names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        count = len([name for name in names if name not in {"self", "cls"}])
        if count > MANY_PARAMETERS:
            found.append(f"{where(path, function)}: {function.name} has {count} parameters")
    return found


def vague_name(path: Path) -> list[str]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return [f"{where(path)}: says nothing"] if VAGUE & {p.strip("_") for p in parts} else []


OF_OTHERS = (
    "vaults/adapters/criu",  # CRIU's
    "core/dask/spread.py",  # those of Slurm and of Dask's workers
    "slurm/",  # Slurm's own options
    "sharing/adapters/condor/config.py",  # a command line that HTCondor runs
    "sharing/api/agent/agent.py",  # one that systemd runs
    "sharing/api/guest/outlive.py",  # one that a guest's keeper runs
    "live/client/own_job.py", "live/doctor/slurm.py",  # Slurm's
    "vaults/api/creation.py",  # a command line for the reader to run
    "vaults/acting/driver.py", "vaults/acting/resume.py",  # what to run a program again with
    "live/slurm/scripts.py", "live/slurm/submissions.py",  # sbatch's
    "site/waits/starts.py",  # Slurm's
    "vaults/acting/held.py",  # those of unshare
    "core/show/svg.py",  # variables of CSS
)  # fmt: skip


def spelled_options(path: Path) -> list[str]:
    """Texts that spell an option (docstrings and commands may): they name parameters in braces."""
    place = path.relative_to(PACKAGE).as_posix()
    if "/commands/" in place or place.startswith(OF_OTHERS):
        return []
    tree = parsed(path)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [
        f"{where(path, node)}: {node.value}"
        for node in texts
        if isinstance(node.value, str) and id(node) not in bare
        and re.search(r"(?<![\w-])--[a-z]", node.value)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "offences",
    [undocumented, long_module, long_functions, many_parameters, vague_name, spelled_options],
)
def test_every_module(offences: Callable[[Path], list[str]]) -> None:
    found = [line for path in MODULES for line in offences(path)]
    assert not found, "\n".join(found)


# Nothing of the machine it was written on --------------------------------------------------------

_MACHINE = re.compile(
    r"(?<![\w.~/-])/(?:work|tmp|root)/\w"
    r"|(?:extra-|--)index-url|trusted-host|files\.python" + r"hosted|pypi\.org/" + r"simple"
)


def project_files() -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and path != Path(__file__).resolve()]


def test_no_machine_paths_or_registry_hosts() -> None:
    found = []
    for path in project_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{path.relative_to(ROOT)}:{n}"
            for n, line in enumerate(lines, 1)
            if _MACHINE.search(line)
        ]
    assert not found, "\n".join(found)


# Where things stand ------------------------------------------------------------------------------

MOST_FILES = 25
NOUNS = 32
"""Of `core/model`, where each noun has its module."""
EXTRAS = {
    "drain3", "libvirt", "matplotlib", "pydantic_core", "qemu", "sklearn", "threadpoolctl",
    "zstandard",
}  # fmt: skip
"""What functions import themselves: it need not be there. All else stands at the top of a module,
in a block `with lazily():` where it is heavy."""

SAME_IDEA = {
    "About": "what an event is about, of a model's log",
    "Facts": "what several rules of a model's certifier make of a run's files",
    "FailureRows": "a model's file as its certifier reads it",
    "Given": "what a model's certifier takes from summary.json",
    "JobRows": "a model's file as its certifier reads it",
    "Progress": "what a stay can have done, by a model's certifier",
    "StayRows": "a model's file as its certifier reads it",
    "ToldRun": "a run as the report of its model tells it",
}
"""Classes that several modules have under one name, since they are the same for other models."""


def test_every_room_keeps_its_budget() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    most = tomllib.loads(text)["tool"]["forestall"]["lines"]
    lines = dict.fromkeys((path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"
                           and path.is_dir()), 0)  # fmt: skip
    for path in MODULES:
        room = path.relative_to(PACKAGE).parts[0]
        if room in lines:
            lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    assert lines.keys() == most.keys()
    over = {room: count for room, count in lines.items() if count > most[room]}
    assert not over, f"more lines than in tool.forestall.lines of pyproject.toml: {over}"


def test_every_room_says_where_to_start() -> None:
    for room in (path for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()):
        assert "**Start reading**" in (room / "README.md").read_text(encoding="utf-8")


def test_no_folder_has_too_many_files() -> None:
    counts: dict[Path, int] = {}
    for path in MODULES:
        counts[path.parent] = counts.get(path.parent, 0) + 1
    most = {PACKAGE / "core" / "model": NOUNS}
    full = {
        where(folder): count
        for folder, count in counts.items()
        if count > most.get(folder, MOST_FILES)
    }
    assert not full


def test_no_two_ideas_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(where(path, node))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    strange = {name: found for name, found in twice.items() if name not in SAME_IDEA}
    assert not strange, f"names that say more, or a reason in SAME_IDEA: {strange}"
    assert set(SAME_IDEA) <= set(twice), "SAME_IDEA names what is there once only"


def own_imports(path: Path) -> list[str]:
    """Return imports in bodies of functions, but for those of what need not be there."""
    found = []
    for function in functions(path):
        for node in ast.walk(function):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "."]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            if any(name.partition(".")[0] not in EXTRAS for name in names):
                found.append(f"{where(path, node)}: {ast.unparse(node)}")
    return found


def test_imports_stand_at_the_top() -> None:
    found = [one for path in MODULES for one in own_imports(path)]
    assert not found


def polars_calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, node.func.attr


def test_csv_holds_no_formulas() -> None:
    """A text of a record may begin as one: `core.files.cells`."""
    raw = [
        where(path, node)
        for path in MODULES
        for node, name in polars_calls(path)
        if name == "write_csv" and "harmless" not in path.read_text(encoding="utf-8")
        and not ast.unparse(node).startswith("pl.")
    ]  # fmt: skip
    assert not raw


def test_names_of_files_are_no_patterns() -> None:
    """Polars takes ``runs[1].csv`` for one, unless it is told."""
    patterns = [
        where(path, node)
        for path in MODULES
        for node, name in polars_calls(path)
        if name == "read_parquet_schema"
        or (
            name in {"read_csv", "scan_csv", "read_parquet", "scan_parquet"}
            and ast.unparse(node).startswith("pl.")
            and ast.unparse(node.args[0]) in {"path", "self.path"}
            and not any(one.arg == "glob" for one in node.keywords)
        )
    ]
    assert not patterns


MAKERS = {"atomic_path", "filling", "_whole"}
"""What gives a place beside, and puts it where it belongs once it is whole."""
OWN_WAYS = {
    "core/files/atomic.py": "the one way itself",
    "core/files/folders.py": "the one way for folders",
    "core/files/packed.py": "writes to the place that it is given by the one way",
    "core/files/parquet.py": "writes to the place that it is given by the one way",
    "core/_compile.py": "locks of the cache of kernels",
    "vaults/adapters/criu/command.py": "a script in a folder of the run, for CRIU alone",
    "core/dask/spread.py": "certificates in a temporary folder",
    "slurm/read.py": "an answer in a temporary folder",
    "reliability/report/design/report.py": "files of a folder in the making",
    "core/kit/output.py": "writes to the place that it is given by the one way",
    "core/commands/output.py": "standard output",
    "sharing/agent/store.py": "damaged samples are put aside",
    "sharing/contention/cgroup.py": "files of the kernel",
    "sharing/contention/workload.py": "files of the kernel",
    "core/processes/priority.py": "files of the kernel",
    "core/processes/processes.py": "files of the kernel",
    "vaults/acting/calls.py": "a word beside, then linked",
    "vaults/acting/driver.py": "the output of a program is emptied",
    "vaults/acting/holder.py": "files of the kernel",
    "vaults/acting/images.py": "copies that keep holes, in a folder in the making",
    "core/show/svg.py": "writes to the place that it is given by the one way",
    "vaults/hosts/folder.py": "objects, beside and then renamed, of which a save awaits thousands",
    "vaults/hosts/remote.py": "objects, on another machine",
}
"""Modules that write files by themselves, and why."""


def name_of(function: ast.expr) -> str:
    """Return the name that a function is called by, whatever module it is of."""
    return getattr(function, "attr", getattr(function, "id", ""))


def bound_by_makers(function: ast.AST) -> set[str]:
    """Return the names that a function gives to places that appear whole or not at all."""
    return {
        item.optional_vars.id
        for node in ast.walk(function)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name) and isinstance(item.context_expr, ast.Call)
        and name_of(item.context_expr.func) in MAKERS
    }  # fmt: skip


def written_to(call: ast.Call) -> ast.expr | None:
    """Return what a call writes to by itself; None where it does not."""
    name = name_of(call.func)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name in {"write_text", "write_bytes", "savefig"}:
        return owner
    if name in {"replace", "rename"} and getattr(owner, "id", "") == "os":
        return call.args[0]
    if name != "open" or getattr(owner, "id", "") == "os":
        return None
    own = owner is None or not call.args or isinstance(call.args[0], ast.Constant)
    target = owner if owner is not None and own else call.args[0]
    modes = [*call.args, *(one.value for one in call.keywords if one.arg == "mode")]
    told = [one.value for one in modes if isinstance(one, ast.Constant)]
    writes = any(isinstance(one, str) and re.fullmatch("[wx]b?[+]?", one) for one in told)
    return target if writes else None


def root_of(place: ast.AST) -> str:
    """Return the name that a path begins with."""
    while not isinstance(place, ast.Name):
        inner = [getattr(place, one, None) for one in ("left", "value", "func")]
        place = next((one for one in inner if isinstance(one, ast.AST)), ast.Name(""))
    return place.id


def own_writers() -> dict[str, list[str]]:
    """Return the places where modules write files by themselves, by module."""
    found: dict[str, list[str]] = {}
    marks = ("write_text", "write_bytes", "open(", "savefig", "os.replace", "os.rename")
    texts = {path: path.read_text(encoding="utf-8") for path in MODULES}
    for path in (one for one, text in texts.items() if any(mark in text for mark in marks)):
        for function in functions(path):
            made = bound_by_makers(function)
            for node in ast.walk(function):
                place = written_to(node) if isinstance(node, ast.Call) else None
                if place is not None and root_of(place) not in made:
                    name = path.relative_to(PACKAGE).as_posix()
                    found.setdefault(name, []).append(where(path, node))
    return found


def test_files_are_written_in_one_way() -> None:
    found = own_writers()
    new = [place for name, places in found.items() if name not in OWN_WAYS for place in places]
    assert not new, f"write them by core.files.atomic: {new}"
    gone = set(OWN_WAYS) - set(found)
    assert not gone, "they write nothing by themselves any more"
