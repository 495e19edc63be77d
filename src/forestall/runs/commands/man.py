"""`forestall man`: manual pages, made of the same declarations as the help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from forestall.__about__ import __version__
from forestall.core._lazy import lazily
from forestall.core.commands.options import OUTPUT, Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting

with lazily():
    from forestall.core.files import atomic
    from forestall.runs.commands import application

app = typer.Typer()
EXIT_CODES = (
    "0 done; 1 a check failed; 2 unusable input; 3 a controller does not answer, or too little is "
    "left of a checkpoint; 4 standard output cannot be written; 130 after Ctrl-C, SIGTERM or "
    "SIGHUP."
)


@command(app, "man", "forestall man --out ~/.local/share/man/man1", "forestall man --out man1 -q")
def man(
    out: Annotated[
        Path, Setting("Folder to write the pages into, such as .../man/man1", shown="DIR",
                      group=OUTPUT)
    ],
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Write manual pages for all commands, with every option, to read with man(1)."""
    made = pages()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("out", str(out), f"a folder ({error.strerror})") from None
    for name, text in reversed(made.items()):  # the page that leads to the others comes last
        with atomic.atomic_path(out / name) as path:
            path.write_text(text, encoding="utf-8")
    if as_json:
        say_json({"folder": str(out), "pages": sorted(made)})
    elif not quiet:
        say(f"{len(made)} pages in {out}. Read them: man -l {out / 'forestall.1'}")


def pages() -> dict[str, str]:
    """Return the text of every page in roff, by the name of its file."""
    root: Any = typer.main.get_command(application.app)
    return {f"{'-'.join(path)}.1": _page(path, one) for path, one in _walk(root, ("forestall",))}


def _walk(one: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, one
    for name, inner in getattr(one, "commands", {}).items():
        if not inner.hidden:
            yield from _walk(inner, (*path, name))


def _page(path: tuple[str, ...], one: Any) -> str:
    help_, *more = [part.strip() for part in (one.help or "").split("\n\n")]
    examples = (one.epilog or "").splitlines()[2:]
    name, inner = "-".join(path), getattr(one, "commands", {})
    shown = [(known, sub) for known, sub in inner.items() if not sub.hidden]
    arguments = [each.metavar for each in one.params if each.param_type_name == "argument"]
    usage = " ".join((*path, "[OPTIONS]", *arguments, *(["COMMAND ..."] if shown else [])))
    parents = ["-".join(path[:-1])] if len(path) > 1 else []
    related = [*parents, *(f"{name}-{known}" for known, _ in shown)]
    lines = [
        f'.TH {_roff(name.upper())} 1 "" "forestall {__version__}" "forestall"',
        ".SH NAME", f"{_roff(name)} \\- {_roff(help_.rstrip('.'))}",
        ".SH SYNOPSIS", f".B {_roff(usage)}",
        ".SH DESCRIPTION", _roff(help_), *(f".PP\n{_roff(text)}" for text in more),
        *_parameters(one.params),
        *_items("COMMANDS", ((known, (sub.help or "").split("\n\n")[0]) for known, sub in shown)),
        *(_items("EXIT STATUS", [("", EXIT_CODES)]) if len(path) == 1 else ()),
        *([".SH EXAMPLES", ".nf", *map(_roff, examples), ".fi"] if examples else ()),
        *([".SH SEE ALSO", ", ".join(f"\\fB{_roff(each)}\\fR(1)" for each in related)]
          if related else ()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _parameters(parameters: Iterable[Any]) -> Iterator[str]:
    """Yield arguments and options, these by the panels of the help."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for one in parameters:
        if one.param_type_name == "argument":
            panels.setdefault("Arguments", []).append((one.metavar, one.help or ""))
        elif "--help-all" not in one.opts:
            names = ", ".join((*one.opts, *one.secondary_opts))
            value = "" if one.is_flag else (one.metavar or "")
            given = "" if one.is_flag or not one.show_default else one.default
            told = f" [default: {given}]" if given not in (None, "", ()) else ""
            panel = panels.setdefault(one.rich_help_panel or "Options", [])
            panel.append((f"{names} {value}".strip(), (one.help or "") + told))
    for head, items in panels.items():
        yield from _items(head.upper(), items)


def _items(head: str, items: Iterable[tuple[str, str]]) -> Iterator[str]:
    told = list(items)
    if told:
        yield f".SH {_roff(head)}"
    for name, text in told:
        yield from (f".TP\n\\fB{_roff(name)}\\fR" if name else ".PP", _roff(text))


def _roff(text: str) -> str:
    """Return a text as roff shows it: no macro begins in it, and hyphens can be copied."""
    joined = re.sub(r"\s+", " ", text).strip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{joined}" if joined[:1] in {".", "'"} else joined
