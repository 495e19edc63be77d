"""Messages to people who are not looking: grouped by cause, seldom, by mail or a webhook."""
