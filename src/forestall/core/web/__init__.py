"""What every server of ours needs: who asks, how often, and what they are told of errors."""

from forestall.core.model.errors import MissingExtraError

try:
    import fastapi
    import uvicorn
except ModuleNotFoundError:
    raise MissingExtraError("an API", "serve") from None

del fastapi, uvicorn
