"""What was recorded, played again."""
