"""Rules mined from what came before failures."""
