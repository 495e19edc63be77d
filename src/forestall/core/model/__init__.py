"""The nouns: jobs, failures, node sets, quotes, events, decisions, units and errors."""
