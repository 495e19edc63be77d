"""What every engine shares: its contract, its growth, and how its state is kept."""
