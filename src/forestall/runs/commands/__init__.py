"""Commands on runs: demo, simulate, sweep, compare, certify, replay."""
