"""The host agent: samples its host, names the state it is in, and says how long that may last.

Nothing in here needs NumPy: the agent runs all day on machines that belong to someone else.
"""
