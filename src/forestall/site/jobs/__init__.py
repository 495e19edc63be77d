"""Single jobs and accounts: what they waited for, used, were promised and lost."""
