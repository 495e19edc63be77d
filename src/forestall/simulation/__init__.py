"""A simulated clock and world around the engine: jobs that run, nodes that fail, measures of
both."""
