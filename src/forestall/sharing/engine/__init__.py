"""The scheduler of guests on shared hosts as a state machine."""
