"""Commands on how machines fail: reliability, fit, design, interval, spares."""
