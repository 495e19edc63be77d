"""Tasks in virtual machines: settings, result, log, report."""
