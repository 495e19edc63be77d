"""Schedulers as state machines: `handle(events, now)` takes what happened and returns what to
do."""
