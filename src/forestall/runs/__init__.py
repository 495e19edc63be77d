"""What runs of every model share: the table of models, settings, sweeps, comparisons, replay."""
