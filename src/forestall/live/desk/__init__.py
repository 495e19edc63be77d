"""A live controller as people meet it: the `Desk` of `forestall.core.model.live.desk`."""
