"""Programs that checkpoints come from and go to."""
