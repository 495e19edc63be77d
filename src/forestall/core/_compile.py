"""Compile flags of kernels: the one place that configures Numba. `_kept` says where they are kept.

With `NUMBA_DISABLE_JIT=1` the same functions run as plain Python.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from typing import Any, Final, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic, overload

from forestall.core._kept import CheckedFiles
from forestall.core._noted import compiling
from forestall.core._reach import reach

F = TypeVar("F", bound=Callable[..., Any])
INTERPRETED = bool(numba.config.DISABLE_JIT)


FLAGS: Final = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": False}
"""No fast-math: the same bytes everywhere. No reference counts: kernels never allocate, which
halves both their code and the time to compile it."""


class _Linked(JITCodeLibrary):  # type: ignore[misc] # Numba says no types
    """The code of a kernel that only other kernels call. Numba would optimise it and turn it into
    machine code by itself, and again as part of each caller, and of each of their callers: that is
    left to the last one, which Python calls; the loop of promises compiles in half the time."""

    _final_module: Any

    def _optimize_final_module(self) -> None:
        """Leave it to callers, which have the code of this one in theirs."""

    def _finalize_final_module(self) -> None:
        """Make machine code of nothing but the variables that Numba writes to when it loads it."""
        self._finalize_dynamic_globals()
        code = self._final_module
        names = [one.name for one in code.global_variables if one.name.startswith("_ZN08NumbaEnv")]
        variables = "".join(f"@{name} = common global i64 0\n" for name in names)
        self._final_module = binding.parse_assembly(variables)
        self._final_module.data_layout = code.data_layout
        super()._finalize_final_module()
        self._final_module = code


class _Linking(Compiler):  # type: ignore[misc] # Numba says no types
    """Numba's compiler, for kernels that only other kernels call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _Linked(target.codegen(), "linked")
            library.enable_object_caching()
        super().__init__(typing, target, library, *rest)


NO_WRAPPERS: Final = {
    "no_cpython_wrapper": not INTERPRETED,
    "no_cfunc_wrapper": not INTERPRETED,
    "pipeline_class": _Linking,
}
"""Without them a kernel is not callable from Python, and compiles in a third of the time."""


def _compiled(function: F, **options: Any) -> F:
    """Compile with our flags, into our cache. Numba reads its cache folder here, while it
    decorates: it is set for that moment only, so that a user's own functions keep theirs."""
    reached = None if INTERPRETED or "inline" in options else reach()
    folder, number = reached.place(function) if reached else (None, 0)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = before if folder is None else str(folder)
    try:
        caching = {} if "inline" in options else {"cache": folder is not None}
        compiled: F = numba.jit(**FLAGS, **caching, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    if caching.get("cache"):
        kept = compiled._cache  # type: ignore[attr-defined] # of Numba
        line, base = kept._impl.locator.get_disambiguator(), kept._impl.filename_base
        base = base.replace(f"-{line}.py", f"-{number}.py")
        kept._cache_file = CheckedFiles.like(kept._cache_file, base)
        _by_one_process(compiled)
    return compiled


def _by_one_process(compiled: Any) -> None:
    """Have only one of several processes compile a function that is not in the cache: the others
    wait, and load what it made. A function is locked before those that it calls, and by one thread
    of a process at a time, so that nobody waits for ever."""
    index, compile_here = compiled._cache._cache_file._index_path, compiled.compile
    under_way = False

    def compile_once(signature: Any) -> Any:
        nonlocal under_way
        with global_compiler_lock, ExitStack() as held:
            if not (under_way or os.path.exists(index)):
                with suppress(OSError):  # where locks are not to be had each compiles for itself
                    fcntl.flock(held.enter_context(open(f"{index}.lock", "w")), fcntl.LOCK_EX)
            before, under_way = under_way, True  # a function may call itself
            try:
                if os.path.exists(index):
                    return compile_here(signature)
                with compiling(compiled.py_func.__module__):
                    return compile_here(signature)
            finally:
                under_way = before

    compiled.compile = compile_once


def kernel(function: F) -> F:
    """Compile a function for other kernels to call; Python cannot call it."""
    return _compiled(function, **NO_WRAPPERS)


def inlined(function: F) -> F:
    """Compile a kernel into its callers: for what has one caller, or takes the whole state, since a
    call that passes dozens of arrays costs far more than most kernels do."""
    return _compiled(function, **NO_WRAPPERS, forceinline=not INTERPRETED)


def merged(function: F) -> F:
    """Compile a kernel as part of its one caller, before types are inferred: it is never compiled
    alone."""
    return _compiled(function, inline="always")


def entry(function: F) -> F:
    """Compile a kernel that Python calls too."""
    return _compiled(function, no_cfunc_wrapper=not INTERPRETED)


class ByType:
    """A kernel with a body of its own for each type of its first argument, a named tuple: Numba
    chooses while it compiles the callers, so that the choice costs a run nothing. The function that
    is decorated is the body for types that none was given for.

    A body is compiled into each process that compiles a caller, and kept with the callers.
    """

    def __init__(self, question: Callable[..., Any], inline: str) -> None:
        self.__doc__, self.__name__ = question.__doc__, question.__name__
        self._question = question
        self._bodies: dict[type, Callable[..., Any]] = {}
        if not INTERPRETED:
            options = {**FLAGS, **NO_WRAPPERS}
            overload(self, jit_options=options, strict=False, inline=inline)(self._compiled_for)

    def __call__(self, about: Any, *rest: Any) -> Any:
        """Answer uncompiled."""
        return self._bodies.get(type(about), self._question)(about, *rest)

    def of(self, *types: type) -> Callable[[F], F]:
        """Return a decorator that makes a plain function the body for these types."""

        def given(body: F) -> F:
            assert body.__module__.endswith("_kernels"), "bodies are looked for in these (`_reach`)"
            for one in types:
                assert one not in self._bodies, f"{self.__name__} has a body for {one.__name__}"
                self._bodies[one] = body
            return body

        return given

    def _compiled_for(self, about: Any, *_rest: Any) -> Callable[..., Any]:
        return self._bodies.get(about.instance_class, self._question)


def by_type(question: Callable[..., Any]) -> ByType:
    """Make a kernel that Numba chooses a body for by the type of its first argument."""
    return ByType(question, "never")


def merged_by_type(question: Callable[..., Any]) -> ByType:
    """Make such a kernel whose bodies become part of their callers, before those are compiled: for
    what is a line or two."""
    return ByType(question, "always")


def plain(function: F) -> F:
    """Return the uncompiled function behind a kernel, for the rare call that need not be fast."""
    behind: F = getattr(function, "py_func", function)
    return behind


def record_of(names: str) -> np.dtype[Any]:
    """Return a record of whole numbers (int64), by the names of its fields in order; ``name:f8``
    is one of another type."""
    return np.dtype(
        [(name, kind or "i8") for name, _, kind in (one.partition(":") for one in names.split())]
    )


def records(count: int, dtype: np.dtype[Any], *, zeroed: bool = True) -> npt.NDArray[Any]:
    """Return `count` records whose fields read as attributes, compiled or not; `zeroed` False for
    those of which every field is written before it is read."""
    make = np.zeros if zeroed else np.empty
    return make(count, dtype=_readable(dtype) if INTERPRETED else dtype)


@cache
def _readable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type with records whose fields are attributes, also those such as `size` and
    `base` that NumPy's own records hide behind attributes of all scalars."""

    def field(name: str) -> property:
        return property(lambda self: self[name], lambda self, value: self.__setitem__(name, value))

    hidden = {name: field(name) for name in dtype.names or () if hasattr(np.void, name)}
    return np.dtype((type("Record", (np.record,), hidden), dtype))


def _word_instruction(
    name: str, emit: Callable[[Any, Any], Any], plainly: Callable[[Any], int]
) -> Callable[[Any], Any]:
    """Return a function of one 64-bit word that compiles to one instruction of the processor, which
    LLVM does not find in the usual tricks with masks; `plainly` is what it is where run as plain
    Python."""
    if INTERPRETED:
        return lambda word: np.int64(plainly(int(word)))

    def typed(typingctx: Any, word: Any) -> Any:  # Numba insists on the first one's name
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return types.int64(word), generate

    typed.__name__ = name
    made: Callable[[Any], Any] = intrinsic(typed)
    return made


population: Final = _word_instruction(
    "population", lambda builder, word: builder.ctpop(word), int.bit_count
)
"""Number of set bits of a word, as int64."""

trailing_zeros: Final = _word_instruction(
    "trailing_zeros",
    lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1)),
    lambda word: (word & -word).bit_length() - 1,
)
"""Number of the lowest set bit of a word that is not zero, as int64."""


LANES: Final = 8
"""Neighbouring numbers that `add_shifted` adds to at once."""


@intrinsic
def _add_shifted(_typing: Any, sums: Any, at: Any, values: Any, end: Any, lags: Any, masses: Any,
                 count: Any) -> Any:  # fmt: skip
    """Add in vectors, which Numba does not make of sums in registers; element by element the same
    multiplications and additions in the same order."""
    word, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
    none, first = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def place(number: int, index: Any) -> Any:
            array = context.make_array(signature.args[number])(context, builder, given[number])
            return builder.gep(array.data, [index])

        def vector_at(number: int, index: Any) -> Any:
            return builder.bitcast(place(number, index), vector.as_pointer())

        target, held = vector_at(0, given[1]), cgutils.alloca_once(builder, vector)
        builder.store(builder.load(target, align=8), held)
        with cgutils.for_range(builder, given[6]) as loop:
            k = builder.sub(builder.sub(given[6], ir.Constant(word, 1)), loop.index)
            mass = builder.insert_element(none, builder.load(place(5, k)), first)
            start = builder.sub(given[3], builder.load(place(4, k)))
            brought = builder.fmul(
                builder.shuffle_vector(mass, none, everywhere),
                builder.load(vector_at(2, start), align=8),
            )
            builder.store(builder.fadd(builder.load(held), brought), held)
        builder.store(builder.load(held), target, align=8)
        return context.get_dummy_value()

    return types.void(sums, types.int64, values, types.int64, lags, masses, types.int64), generate


def _add_shifted_plain(sums: Any, at: int, values: Any, end: int, lags: Any, masses: Any,
                       count: int) -> None:  # fmt: skip
    for k in range(count - 1, -1, -1):
        start = end - lags[k]
        sums[at : at + LANES] += masses[k] * values[start : start + LANES]


add_shifted: Final[Any] = _add_shifted_plain if INTERPRETED else _add_shifted
"""To sums[at + j] add masses[k] * values[end + j - lags[k]] for 0 <= j < LANES, the last of `count`
k first. Whole numbers are int64, the rest float64; arrays are C-ordered; nothing is checked."""


_ANSWER: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class AskedFunction:
    """A function in Python that kernels ask three whole numbers, for one.

    Kernels get its `address`, and call it by `ask`. What it raises cannot pass through them: from
    then on they are answered `otherwise`, and `check` raises it when they are done.
    """

    def __init__(self, answer: Callable[[int, int, int], int], otherwise: int) -> None:
        self._answer, self._otherwise = answer, otherwise
        self._error: BaseException | None = None
        self._function = _ANSWER(self._answered)  # must live as long as kernels may call it
        self.address: int = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _answered(self, first: int, second: int, third: int) -> int:
        if self._error is None:
            try:
                return self._answer(first, second, third)
            except BaseException as error:  # raised again by `check`
                self._error = error
        return self._otherwise

    def check(self) -> None:
        """Raise what the function raised, if it did."""
        if self._error is not None:
            raise self._error


@intrinsic
def _call(_typing: Any, address: Any, first: Any, second: Any, third: Any) -> Any:
    """Call the function at an address with three whole numbers."""
    word = ir.IntType(64)

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        function = ir.FunctionType(word, [word] * 3).as_pointer()
        return builder.call(builder.inttoptr(given[0], function), given[1:])

    return types.int64(*[types.int64] * 4), generate


def _ask(address, first, second, third):  # type: ignore[no-untyped-def]
    """Return the answer of an `AskedFunction` at this address."""
    return _call(address, np.int64(first), np.int64(second), np.int64(third))


def _ask_plain(address: int, first: int, second: int, third: int) -> int:
    """Return what `ask` does, without the compiler."""
    return int(_ANSWER(int(address))(int(first), int(second), int(third)))


ask: Final[Any] = _ask_plain if INTERPRETED else kernel(_ask)
