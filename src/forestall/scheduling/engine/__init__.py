"""The promise policy and the classic policies as a state machine."""
