"""The ledger of a live cluster: offers, promises, intents and what became of them, in a database
to which rows are only ever added."""

from forestall.core.model.errors import MissingExtraError

try:
    import alembic
    import sqlalchemy
except ModuleNotFoundError:
    raise MissingExtraError("a ledger", "serve") from None

del alembic, sqlalchemy
