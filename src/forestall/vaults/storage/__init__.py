"""The storage daemon: objects of several clients on a shared machine's disk, over HTTP."""

from forestall.core.model.errors import MissingExtraError

try:
    import fastapi
    import uvicorn
except ModuleNotFoundError:
    raise MissingExtraError("a storage daemon", "serve") from None

del fastapi, uvicorn
