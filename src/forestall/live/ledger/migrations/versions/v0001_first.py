"""The first ledger: its tables, and the triggers by which rows are only ever added.

Written out as it stood, for SQLite and PostgreSQL alike; `tables.py` says what holds now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from alembic import op

revision: Final = "0001"
down_revision: Final = None

_ROW: Final = "seq BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL"
_TABLES: Final = {
    "runs": """
        number BIGINT NOT NULL, at BIGINT NOT NULL, software TEXT NOT NULL, settings TEXT NOT NULL,
        snapshot TEXT NOT NULL, CONSTRAINT runs_key UNIQUE (number)""",
    "cycles": """
        number BIGINT NOT NULL, run BIGINT NOT NULL REFERENCES runs (number), at BIGINT NOT NULL,
        events TEXT NOT NULL, decisions TEXT NOT NULL, CONSTRAINT cycles_key UNIQUE (number)""",
    "looks": """
        number BIGINT NOT NULL, at BIGINT NOT NULL, whole BIGINT NOT NULL, nodes BIGINT NOT NULL,
        jobs BIGINT NOT NULL, mark TEXT NOT NULL, said TEXT NOT NULL,
        CONSTRAINT looks_key UNIQUE (number)""",
    "predictions": """
        cycle BIGINT NOT NULL REFERENCES cycles (number), at BIGINT NOT NULL,
        predictor TEXT NOT NULL, subject TEXT NOT NULL, start BIGINT NOT NULL,
        "end" BIGINT NOT NULL, probability DOUBLE PRECISION NOT NULL,
        CONSTRAINT predictions_key UNIQUE (cycle, predictor, subject, start, "end")""",
    "offers": """
        id TEXT NOT NULL, at BIGINT NOT NULL, expires BIGINT NOT NULL, asked_by TEXT NOT NULL,
        question TEXT NOT NULL, size BIGINT NOT NULL, length BIGINT NOT NULL, start BIGINT NOT NULL,
        deadline BIGINT NOT NULL, before DOUBLE PRECISION NOT NULL,
        probability DOUBLE PRECISION NOT NULL, reasons TEXT NOT NULL, record TEXT NOT NULL,
        held BIGINT NOT NULL, CONSTRAINT offers_key UNIQUE (id)""",
    "promises": """
        id TEXT NOT NULL, at BIGINT NOT NULL, offer TEXT NOT NULL REFERENCES offers (id),
        job TEXT NOT NULL, owner TEXT NOT NULL, deadline BIGINT NOT NULL,
        probability DOUBLE PRECISION NOT NULL, held BIGINT NOT NULL, consents TEXT NOT NULL,
        CONSTRAINT promises_key UNIQUE (id)""",
    "outcomes": """
        promise TEXT NOT NULL REFERENCES promises (id), at BIGINT NOT NULL, outcome TEXT NOT NULL,
        cause TEXT NOT NULL, ended BIGINT NOT NULL, job BIGINT NOT NULL,
        CONSTRAINT outcomes_key UNIQUE (promise)""",
    "intents": """
        id TEXT NOT NULL, cycle BIGINT NOT NULL, role TEXT NOT NULL, action TEXT NOT NULL,
        target TEXT NOT NULL, size BIGINT NOT NULL, partition TEXT NOT NULL,
        decided BIGINT NOT NULL, expires BIGINT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        figures TEXT NOT NULL, promise TEXT NOT NULL, CONSTRAINT intents_key UNIQUE (id)""",
    "states": """
        intent TEXT NOT NULL REFERENCES intents (id), state TEXT NOT NULL, at BIGINT NOT NULL,
        why TEXT NOT NULL, CONSTRAINT states_key UNIQUE (intent, state)""",
    "approvals": """
        intent TEXT NOT NULL REFERENCES intents (id), at BIGINT NOT NULL, who TEXT NOT NULL,
        approved BIGINT NOT NULL, why TEXT NOT NULL, CONSTRAINT approvals_key UNIQUE (intent)""",
}
_KEYS: Final = {
    "runs": ("number",),
    "cycles": ("number",),
    "looks": ("number",),
    "predictions": ("cycle", "predictor", "subject", "start", '"end"'),
    "offers": ("id",),
    "promises": ("id",),
    "outcomes": ("promise",),
    "intents": ("id",),
    "states": ("intent", "state"),
    "approvals": ("intent",),
}


def upgrade() -> None:
    """Make the tables, an index, and the triggers."""
    for table, columns in _TABLES.items():
        op.execute(f"CREATE TABLE {table} ({_ROW}, {columns})")
    op.execute("CREATE INDEX states_at ON states (at)")
    op.execute("CREATE UNIQUE INDEX promises_offer ON promises (offer)")
    guards = _sqlite() if op.get_bind().dialect.name == "sqlite" else _postgresql()
    for statement in guards:
        op.execute(statement)


def _sqlite() -> Iterator[str]:
    """Yield the triggers of SQLite. INSERT OR REPLACE deletes without a trigger for it, so what is
    there already is refused before."""
    for table, key in _KEYS.items():
        for change in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'the ledger is never changed: {table}'); END"
            )
        same = " AND ".join(f"{column} = NEW.{column}" for column in key)
        yield (
            f"CREATE TRIGGER {table}_next BEFORE INSERT ON {table} "
            f"WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM {table}) "
            f"OR EXISTS (SELECT 1 FROM {table} WHERE {same}) "
            f"BEGIN SELECT RAISE(ABORT, 'the ledger is only added to: {table}'); END"
        )
    yield (
        "CREATE TRIGGER promises_one BEFORE INSERT ON promises "
        "WHEN EXISTS (SELECT 1 FROM promises WHERE offer = NEW.offer) "
        "BEGIN SELECT RAISE(ABORT, 'an offer is accepted once'); END"
    )


def _postgresql() -> Iterator[str]:
    """Yield the functions and triggers of PostgreSQL."""
    yield """
        CREATE FUNCTION forestall_never() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'the ledger is never changed: %', TG_TABLE_NAME; END $$"""
    yield """
        CREATE FUNCTION forestall_next() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE last BIGINT;
        BEGIN
          EXECUTE format('SELECT coalesce(max(seq), 0) FROM %I.%I', TG_TABLE_SCHEMA, TG_TABLE_NAME)
            INTO last;
          IF NEW.seq IS DISTINCT FROM last + 1 THEN
            RAISE EXCEPTION 'the ledger is only added to: %', TG_TABLE_NAME;
          END IF;
          RETURN NEW;
        END $$"""
    for table in _TABLES:
        yield (
            f"CREATE TRIGGER {table}_never BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION forestall_never()"
        )
        yield (
            f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION forestall_never()"
        )
        yield (
            f"CREATE TRIGGER {table}_next BEFORE INSERT ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION forestall_next()"
        )
