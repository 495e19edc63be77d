"""The agent that watches a host, as a command."""
