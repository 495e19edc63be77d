"""What every simulated clock needs: when to stop, and how far it is."""
