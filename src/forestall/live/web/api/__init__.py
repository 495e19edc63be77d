"""The API of a live controller: a desk over HTTP."""

from forestall.core.model.errors import MissingExtraError

try:
    import fastapi
    import uvicorn
except ModuleNotFoundError:
    raise MissingExtraError("an API", "serve") from None

del fastapi, uvicorn
