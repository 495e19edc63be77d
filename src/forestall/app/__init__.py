"""Use cases: settings, wiring, figures and reports."""
