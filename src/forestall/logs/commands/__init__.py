"""Commands on logs: info, convert, filter, generate."""
