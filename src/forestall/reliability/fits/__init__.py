"""From gaps between failures to laws: samples with censoring, estimates, intervals, tests."""
