"""What every simulated clock needs: the heap of planned events."""
