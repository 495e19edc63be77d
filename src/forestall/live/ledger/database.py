"""The database of a ledger: SQLite in WAL mode, or PostgreSQL by URL; one writer at a time.

A writer holds a lock for as long as it lives: of SQLite a file beside it (``PATH.lock``), of
PostgreSQL an advisory lock of its session. Locks end with their process, however that ends. Readers
take none, and see what was committed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from forestall.core.model.errors import LedgerError, MissingExtraError, ParameterError, of_system

_EXPECTED: Final = "sqlite:///PATH or postgresql://USER@HOST/NAME"
_LOCK: Final = 0x666F7265  # "fore": the advisory lock of PostgreSQL
_READS: Final = {"reads": True}
_NOTICE: Final = 3.0
_WAIT: Final = 10
"""s that a statement waits for others, and a connection for its server."""


_MAGIC: Final = b"SQLite format 3\0"
_DAMAGE: Final = (SQLAlchemyError, UnicodeDecodeError)
"""What a database raises that cannot be used; Python's driver decodes SQLite's own words."""


class Database:
    """A ledger's database, by its URL.

    Raises ParameterError for a URL of another kind, MissingExtraError without its driver,
    LedgerError where it cannot be reached.
    """

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self.name = _shown(parsed)
        self.is_file = parsed.get_backend_name() == "sqlite"
        self._path = Path(parsed.database or "")
        self._lock = -1
        self._writer: sa.Connection | None = None
        try:
            self._engine = sa.create_engine(parsed, pool_pre_ping=True, **_options(self.is_file))
        except ModuleNotFoundError:
            raise MissingExtraError("a ledger in PostgreSQL", "serve") from None
        if self.is_file:
            sa.event.listen(self._engine, "connect", _set_up)
            sa.event.listen(self._engine, "begin", _begin)

    @property
    def engine(self) -> sa.Engine:
        """SQLAlchemy's engine, for who listens to what is executed."""
        return self._engine

    def close(self) -> None:
        """Let go of connections and lock."""
        self._drop_writer()
        self._engine.dispose()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Read in one transaction, which sees one moment. Raises LedgerError where that fails."""
        if self.is_file and not self._path.is_file():
            raise LedgerError(self.name, "does not exist")
        if self.is_file and not self._writer:
            self._check_magic()
        try:
            with self._engine.connect().execution_options(**_READS) as connection:
                if not self.is_file:
                    connection = connection.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    yield connection
        except _DAMAGE as error:
            raise self._failed("cannot be read", error) from None
        except ParameterError as error:  # a value of another kind than its column's
            raise LedgerError(self.name, str(error)) from None

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Write in one transaction: once this returns it is on the disk.

        Raises LedgerError where that fails: nothing is written then, or, where a server went away
        while it answered, all or nothing. Doing the same again is right in all cases, since what
        is there already is not added twice.
        """
        try:
            connection = self._connection()
            with connection.begin():
                yield connection
        except _DAMAGE as error:
            if self.is_file or getattr(error, "connection_invalidated", True):
                self._drop_writer()
            raise self._failed("cannot be written", error) from None

    def prepare(self) -> None:
        """Be the one writer, and bring the tables up to date. Raises LedgerError."""
        if self.is_file:
            self._lock_file()
        config = _migrations()
        with self.writing() as connection:
            self._check_version(connection, config)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def check_current(self) -> None:
        """Raise LedgerError where the tables are not those of this version of forestall."""
        with self.reading() as connection:
            current = self._check_version(connection, _migrations())
        if current != ScriptDirectory.from_config(_migrations()).get_current_head():
            told = "not a ledger" if current is None else "is a ledger of an older forestall"
            raise LedgerError(self.name, f"{told}; its writer brings it up to date")

    def _check_version(self, connection: sa.Connection, config: Config) -> str | None:
        """Return at which step a database is. Raises LedgerError for one that is not known."""
        current = MigrationContext.configure(connection).get_current_revision()
        known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
        if current is not None and current not in known:
            told = (
                f"is a ledger of a newer forestall (step {current}), or damaged; install that one"
            )
            raise LedgerError(self.name, told)
        return current

    def _check_magic(self) -> None:
        """Raise LedgerError for a file that is no database: SQLite would make one of some."""
        try:
            with self._path.open("rb") as file:
                head = file.read(len(_MAGIC))
        except OSError as error:
            raise LedgerError(self.name, f"cannot be read: {error.strerror}") from None
        if head != _MAGIC:
            raise LedgerError(self.name, "not a ledger")

    def _connection(self) -> sa.Connection:
        """Return the writer's connection, a new one where it was lost, with its lock."""
        if self._writer is None:
            made = self._engine.connect()
            if not self.is_file and not _locked(made):
                made.close()
                raise LedgerError(self.name, "another process writes to it")
            self._writer = made
        return self._writer

    def _drop_writer(self) -> None:
        """Forget the writer's connection, and with it what it had not committed."""
        if self._writer is not None:
            try:
                self._writer.invalidate()
                self._writer.close()
            except SQLAlchemyError:  # it is gone, which is what was asked for
                pass
            self._writer = None

    def _lock_file(self) -> None:
        """Make the file, for its owner only, and take the lock beside it."""
        with of_system(self._path, "cannot be written"):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._lock = os.open(f"{self._path}.lock", flags, 0o600)
            os.close(os.open(self._path, flags, 0o600))
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            self._lock = -1
            raise LedgerError(self.name, "another process writes to it") from None

    def _failed(self, what: str, error: Exception) -> LedgerError:
        """Return an error of the database in one line."""
        said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        return LedgerError(self.name, f"{what}: {said}")


def _parsed(url: str) -> sa.URL:
    """Return the parts of a URL; SQLite's and PostgreSQL's only, with our driver."""
    shown = url.partition("://")[0] + "://..." if "@" in url else url
    try:
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise ParameterError("ledger", shown, _EXPECTED) from None
    if backend == "sqlite" and parsed.database and parsed.database != ":memory:":
        return parsed.set(drivername="sqlite+pysqlite")
    if backend == "postgresql" and parsed.database:
        return parsed.set(drivername="postgresql+psycopg")
    raise ParameterError("ledger", shown, _EXPECTED)


def _shown(url: sa.URL) -> str:
    """Return a URL as it was given, without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def _options(is_file: bool) -> dict[str, Any]:
    """Return what connections are made with."""
    if is_file:
        return {"connect_args": {"timeout": _WAIT}}
    settings = "-c synchronous_commit=on -c statement_timeout=60000"  # on the disk, or an error
    return {
        "connect_args": {
            "connect_timeout": _WAIT,
            "tcp_user_timeout": _WAIT * 1000,
            "application_name": "forestall",
            "options": settings,
        }
    }


def _locked(connection: sa.Connection) -> bool:
    """Take the writer's lock of PostgreSQL, and return whether that could be done. A server needs a
    moment to notice that who had it is dead."""
    until = time.monotonic() + _NOTICE
    while True:
        with connection.begin():
            if connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_LOCK))):
                return True
        if time.monotonic() > until:
            return False
        time.sleep(0.05)


def _set_up(connection: Any, _: Any) -> None:
    """Set up a connection to SQLite: transactions are ours, each on the disk when it ends."""
    connection.isolation_level = None
    for pragma in (
        "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction of SQLite: who writes waits at once, not half-way."""
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _migrations() -> Config:
    """Return Alembic's settings."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return config
