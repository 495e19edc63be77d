"""The rim: systems that run elsewhere, each in a room of its own. Running, parsing and translating
are kept apart."""
