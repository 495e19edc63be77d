"""Whether an intent may be carried out now: pure functions over what was seen, done and set."""
