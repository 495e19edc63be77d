"""The scheduler of tasks in virtual machines as a state machine."""
