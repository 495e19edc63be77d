"""The live page: cluster, quotes, promises, their record and proposals, over a `Desk`."""
