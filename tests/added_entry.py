"""Run a script as if one entry more stood in the source of a module.

`python added_entry.py MODULE MARK ENTRY SCRIPT`: ENTRY is put after MARK, which stands in the
module's source once; SCRIPT then sees the package as whoever adds that entry would.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType


class Adding(SourceFileLoader):
    """Loads a module whose source has one entry more."""

    mark = entry = ""

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        assert source.count(self.mark) == 1, f"{self.mark!r} stands {source.count(self.mark)} times"
        return compile(source.replace(self.mark, self.mark + self.entry), self.path, "exec")


class Finding(MetaPathFinder):
    """Finds that module alone."""

    def __init__(self, module: str, mark: str, entry: str) -> None:
        self.module, self.mark, self.entry = module, mark, entry

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        spec = PathFinder.find_spec(name, path)  # type: ignore[arg-type]
        assert spec is not None
        assert spec.origin is not None
        loader = Adding(name, spec.origin)
        loader.mark, loader.entry = self.mark, self.entry
        spec.loader = loader
        return spec


if __name__ == "__main__":
    module, mark, entry, script = sys.argv[1:]
    sys.meta_path.insert(0, Finding(module, mark, entry))
    exec(compile(script, "script", "exec"), {"__name__": "__main__"})
