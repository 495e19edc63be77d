"""Write the tables of parameters from their declarations: ``python docs/make_parameters.py``.

A table stands between ``<!-- parameters: NAME -->`` and ``<!-- end -->``: in
``docs/reference/parameters/`` by model, in ``docs/reference/cli/run-options.md`` by panel of help.
The test ``tests/docs/test_parameters.py`` says when they are not as declared.
"""

from __future__ import annotations

import re
from pathlib import Path

from forestall.core.commands.questions import metavar_of
from forestall.core.commands.spellings import spelled as typed
from forestall.core.model.settings import Kind, Parameter
from forestall.core.model.spelling import named
from forestall.core.model.units import MAX_SECONDS, exact_duration
from forestall.runs.commands.parameters import MODEL, PANELS, parameter_options
from forestall.runs.models import MODELS

REFERENCE = Path(__file__).parent / "reference"
PAGES = (
    *(REFERENCE / "parameters" / f"{name}.md" for name in ("index", "tasks", "guests")),
    REFERENCE / "cli" / "run-options.md",
)
_TABLE = re.compile(r"(<!-- parameters: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
LINK = re.compile(r"\]\((?=[\w-]+/)")
"""How links of declarations begin: they lead from `docs/`."""


def main() -> None:
    """Write the tables of all pages."""
    for page in PAGES:
        page.write_text(written(page), encoding="utf-8")


def written(page: Path) -> str:
    """Return a page with its tables as declared."""
    return _TABLE.sub(lambda found: found[1] + table(found[2]) + found[3], page.read_text("utf-8"))


def table(name: str) -> str:
    """Return a table: of a model's parameters, or of the options of a panel ("run": of all those
    that belong to no model alone)."""
    if name in MODELS:
        rows = [row(one) for one in MODELS[name].declared.values()]
        return lines(("field", "default", "allowed", "meaning"), rows)
    shared = name == "run"
    chosen = [MODEL, *parameter_options()] if shared else parameter_options()
    wanted = [one for one in chosen if (one.setting.group in PANELS.values()) == shared]
    return lines(
        ("option", "what"),
        [option(one) for one in wanted if shared or one.setting.group.startswith(name)],
    )


def lines(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return rows as Markdown."""
    rule = "|" + "---|" * len(heads)
    return "".join(f"{line}\n" for line in (bar(heads), rule, *map(bar, rows)))


def bar(cells: tuple[str, ...]) -> str:
    """Return the cells of a row as a line."""
    return "| " + " | ".join(cells) + " |"


def row(one: Parameter) -> tuple[str, ...]:
    """Return name, default, what is allowed, and meaning of a parameter."""
    meaning = one.setting.about or one.setting.help[0].lower() + one.setting.help[1:]
    told = LINK.sub("](../../", named(meaning, code))
    return f"`{one.name}`", default(one), allowed(one), told


def code(name: str) -> str:
    """Return a name as code."""
    return f"`{name}`"


def default(one: Parameter) -> str:
    """Return the default as Python has it, with its unit."""
    value, unit = one.default, one.setting.unit
    if value is None:
        file = f" (`{one.setting.absent}` in a file)" if one.setting.absent else ""
        means = named(one.setting.unset, code)
        if one.kind is Kind.CHOICE:
            return means
        return (f"none: {means}" if means else "none") + file
    if isinstance(value, bool):
        return str(value).lower()
    return code(value) if isinstance(value, str) else f"{value} {unit}".strip()


def allowed(one: Parameter) -> str:
    """Return what a value may be."""
    if one.kind is Kind.FLAG:
        return "true, false"
    if one.kind is Kind.CHOICE:
        return ", ".join(map(code, one.choices))
    parts = [] if one.kind is Kind.TEXT else [between(one)]
    parts += [f"or {code(one.word)}"] if one.word else []
    parts += [named(one.setting.allowed, code)] if one.setting.allowed else []
    return ", ".join(parts)


def between(one: Parameter) -> str:
    """Return the bounds of a number in words."""
    bounds = one.bounds
    top = None if bounds.below in {None, MAX_SECONDS} else bounds.below
    if top is not None and bounds.above is not None:
        return f"above {amount(one, bounds.above)}, below {amount(one, top)}"
    if top is not None:
        return f"{amount(one, bounds.least)} to 2^{int(top).bit_length() - 1} - 1"
    if bounds.above is not None:
        return f"above {amount(one, bounds.above)}, up to {amount(one, bounds.most)}"
    if bounds.most is None:
        return f"{amount(one, bounds.least)} or more"
    return f"{amount(one, bounds.least)} to {amount(one, bounds.most)}"


def amount(one: Parameter, value: float | None) -> str:
    """Return a number with its unit."""
    number = value or 0
    number = int(number) if number == int(number) else number
    if one.kind is Kind.DURATION:
        return exact_duration(int(number))
    return f"{number:,} {one.setting.unit}".strip()


def option(one: Parameter) -> tuple[str, ...]:
    """Return an option as it is typed, and its help."""
    name, told = typed(one.name), "" if one.setting.shown else "|".join(one.choices)
    spelled = [name]
    if one.kind is not Kind.FLAG:
        shown = one.name.upper() if told else (one.setting.shown or metavar_of(one))
        spelled = [f"{name} {shown}".replace("|", "\\|")]
    elif one.default is True:
        spelled.append(f"--no-{name[2:]}")
    choices = f" One of {', '.join(map(code, one.choices))}." if told else ""
    meaning = named(one.setting.help, typed).replace("|", "\\|").rstrip(".")
    return ", ".join(map(code, spelled)), f"{meaning}.{choices}"


if __name__ == "__main__":
    main()
