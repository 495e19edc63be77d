"""Where a token is typed: a plain page, which needs no script to work."""

from __future__ import annotations

import html
from typing import Final

from forestall.live.web.page.style import STYLE

_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in: forestall</title><link rel="icon" href="data:,">
<style>{style}</style></head>
<body class="fs-login"><main>
<p class="fs-brand">forestall</p>
<h1>Sign in</h1>
<p class="fs-soft">Paste your token. <code>forestall serve</code> prints the operator's once;
ask your operators for one of your own.</p>
<form method="post" action="login">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" autofocus required
 spellcheck="false" aria-describedby="said">
<p id="said" class="fs-trouble" role="alert">{said}</p>
<button class="fs-button fs-primary" type="submit">Sign in</button>
</form>
</main>
<script>fetch("page/me",{{cache:"no-store"}}).then(r=>{{if(r.ok)location.replace("./")}})</script>
</body></html>
"""
"""Its script looks whether the browser has a session already: it does not send the cookie with a
visit that begins on another site, such as a link in a mail."""


def login_page(said: str = "") -> str:
    """Return the page; `said`: what was wrong with the last try."""
    return _PAGE.format(style=STYLE, said=html.escape(said))
