"""A live controller as people meet it: the `Desk` of `forestall.model.live.desk`."""
