"""The promise model and the classic policies: settings, result, log, report."""
