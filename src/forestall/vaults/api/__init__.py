"""Use cases of the vault: checkpoints saved, brought back, looked after."""
