"""What people reach with a browser or a script: the API, the page, metrics. It parses and renders;
what it tells and takes are the nouns of `forestall.core.model.live.desk`."""
