"""What past jobs tell of waits, run times and turnarounds."""
