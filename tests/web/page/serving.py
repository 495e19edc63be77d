"""Serves the page over a desk of plain data, for the tests: python serving.py PORT NODES JOBS."""

from __future__ import annotations

import sys

import uvicorn
from fastapi import FastAPI
from told_desk import ToldDesk

from forestall.model.live.desk import Viewer
from forestall.web.page.mount import mount_page

TOKENS = {
    "token-of-ops": Viewer("ops", "operator"),
    "token-of-alice": Viewer("alice", "user"),
    "token-of-bob": Viewer("bob", "user"),
}


def main(port: int, nodes: int, jobs: int) -> None:
    app = FastAPI(docs_url=None, redoc_url=None)
    mount_page(app, ToldDesk(nodes, jobs), TOKENS.get)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
