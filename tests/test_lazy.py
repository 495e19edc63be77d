"""Deferred modules: nothing runs before it is asked for, and then it is the module itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from forestall.core._lazy import Deferred, lazily


def run(code: str) -> list[str]:
    """Return the words that a Python program of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_module_loads_when_it_is_asked() -> None:
    told = run(
        "import sys\n"
        "from forestall.core._lazy import lazily\n"
        "with lazily():\n"
        "    import polars as pl\n"
        "    from forestall.core.model import units\n"
        "names = 'polars', 'forestall.core.model.units'\n"
        "def there(): return [name in sys.modules for name in names]\n"
        "print(*there())\n"
        "print(units.parse_duration('2m'), *there())\n"
        "print(pl.Series([1, 2]).sum(), *there())\n"
    )
    assert told == ["False", "False", "120", "False", "True", "3", "True", "True"]


def test_it_is_the_same_module_for_all() -> None:
    told = run(
        "from forestall.core._lazy import lazily\n"
        "with lazily():\n"
        "    from forestall.core.model import units\n"
        "import forestall.core.model.units as own\n"
        "print(units.parse_duration is own.parse_duration)\n"
        "own.parse_duration = 5\n"
        "print(units.parse_duration)\n"
        "units.parse_duration = 6\n"
        "print(own.parse_duration)\n"
    )
    assert told == ["True", "5", "6"]


def test_a_package_does_not_run_for_a_module_in_it() -> None:
    told = run(
        "import sys\n"
        "from forestall.core._lazy import lazily\n"
        "with lazily():\n"
        "    from forestall.logs.generate import laws, presets\n"
        "    from forestall.logs import info\n"
        "print(*[name for name in sys.modules if name.startswith('forestall.logs')], 'and')\n"
        "print(presets.PRESETS is sys.modules['forestall.logs.generate'].PRESETS)\n"
        "here = sys.modules['forestall.logs.generate.laws']\n"
        "print(laws.WeibullTimes is here.WeibullTimes)\n"
    )
    assert told == ["and", "True", "True"]


def test_what_is_asked_inside_the_block_is_there() -> None:
    told = run(
        "import sys\n"
        "from forestall.core._lazy import lazily\n"
        "with lazily():\n"
        "    from forestall.core.model.units import parse_duration\n"
        "    from forestall.core.model import units\n"
        "    from forestall.logs import read_jobs, info\n"
        "    assert 'forestall.logs' in sys.modules and 'forestall.logs.info' in sys.modules\n"
        "import forestall.logs\n"
        "assert read_jobs is forestall.logs.read_jobs\n"
        "print(parse_duration('2m'), units is sys.modules['forestall.core.model.units'])\n"
    )
    assert told == ["120", "True"]


def test_what_is_loaded_already_is_bound_as_it_is() -> None:
    with lazily():
        import subprocess as same
    assert same is subprocess


def test_a_module_that_is_missing_is_an_error_in_the_block() -> None:
    with pytest.raises(ImportError), lazily():
        from forestall.core.model import no_such_module  # type: ignore[attr-defined] # noqa: F401


def test_nothing_stays_behind() -> None:
    before = list(sys.meta_path)
    with lazily():
        from forestall.logs.generate import presets
    assert list(sys.meta_path) == before
    assert not any(isinstance(module, Deferred) for module in list(sys.modules.values()))
    assert Path(presets.__name__).name == "forestall.logs.generate.presets"


def test_vaults_do_without_numba() -> None:
    told = run("import sys\nimport forestall.vaults.api.stores\nprint('numba' in sys.modules)\n")
    assert told == ["False"]
