"""Write the keywords of `fs.simulate`, `fs.sweep` and the other two models of runs from
the declarations of their parameters: ``python docs/make_keywords.py``.

They are types alone, for completion and type checkers. The test ``tests/docs/test_keywords.py``
says when they are not as declared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

import forestall as fs
from forestall.core.commands.options import BESIDE, HOSTS, READING, TRAINING
from forestall.core.model.settings import Kind, Parameter
from forestall.runs.models import MODELS

HOME = Path(fs.__file__).parent
PLAYED: Mapping[str, tuple[str, str, Callable[..., Any]]] = {
    "scheduling/keywords.py": ("promise", "PromiseKeywords", fs.simulate),
    "machines/keywords.py": ("virtual", "VirtualKeywords", fs.simulate_virtual),
    "sharing/keywords.py": ("cycle", "CycleKeywords", fs.simulate_cycle),
}
"""Files of keywords: the model, the name, and the function that takes them."""
SWEPT = "runs/keywords.py"
PYTHON = {Kind.FLAG: "bool", Kind.WHOLE: "int", Kind.DURATION: "int", Kind.REAL: "float"}
SEVERAL = {"bool": "Flags", "int": "Numbers", "float": "Numbers"}


def main() -> None:
    """Write all files."""
    for name, text in written().items():
        (HOME / name).write_text(text, encoding="utf-8")


def written() -> dict[str, str]:
    """Return the text of each file, by its name below `forestall`."""
    made = {}
    for name, (model, title, function) in PLAYED.items():
        taken = inspect.signature(function).parameters
        declared = MODELS[model].declared.items()
        rows = [(field, value_of(one)) for field, one in declared if field not in taken]
        extra = [("machine", "Any")] if function is fs.simulate else []
        about = f"Parameters of `fs.{function.__name__}`; durations in s."
        imports = f"from typing import {'Any, ' * len(extra)}TypedDict"
        lines = (*head(function, imports), *typed(title, rows + extra, about))
        made[name] = "\n".join(lines)
    further = (
        "from collections.abc import Sequence",
        "from pathlib import Path",
        "from typing import Any, TypeAlias, TypedDict",
    )
    made[SWEPT] = "\n".join((
        *head(fs.sweep, *further), "Numbers: TypeAlias = float | str | Sequence[float | str]",
        "Words: TypeAlias = str | Sequence[str]",
        "Flags: TypeAlias = bool | str | Sequence[bool]",
        "Read: TypeAlias = str | int | float | Path",
        *typed("SweepKeywords", swept(), "Options of `forestall sweep` by their keys."),
    ))  # fmt: skip
    return made


def typed(title: str, rows: Iterable[tuple[str, str]], about: str) -> Iterator[str]:
    """Yield the lines of a dictionary with these keys and types."""
    told = ", ".join(f'"{name}":@{kind.replace(" ", "@")}' for name, kind in rows)
    yield f'{title} = TypedDict("{title}", {{'
    for line in wrap(told, 94, break_long_words=False, break_on_hyphens=False):
        yield f"    {line.replace('@', ' ')}"
    yield "}, total=False)  # fmt: skip"
    yield f'"""{about}"""\n'


def head(function: Callable[..., Any], *imports: str) -> tuple[str, ...]:
    """Return the lines with which a file begins."""
    about = f"The keywords of `fs.{function.__name__}`, written by docs/make_keywords.py."
    return f'"""{about}"""\n', "from __future__ import annotations\n", *imports, ""


def value_of(one: Parameter) -> str:
    """Return the type of a parameter's value."""
    kinds = [PYTHON.get(one.kind, "str")]
    kinds += ["str"] if one.word and "str" not in kinds else []
    kinds += ["None"] if one.default is None or one.setting.absent else []
    return " | ".join(kinds)


def swept() -> Iterator[tuple[str, str]]:
    """Yield the keywords of a sweep, each with its type."""
    yield "model", "str"
    own = {model.decides for model in MODELS.values()}
    told = {name: one for model in MODELS.values() for name, one in model.declared.items()}
    for name, one in told.items():
        yield name, "Any" if name in own else SEVERAL.get(PYTHON.get(one.kind, ""), "Words")
    for one in (*HOSTS, *READING, *TRAINING, *BESIDE):
        if one.name not in told:
            yield one.name, "bool" if one.kind is Kind.FLAG else "Read"


if __name__ == "__main__":
    main()
