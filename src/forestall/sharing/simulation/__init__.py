"""Cycle sharing simulated: guest jobs on hosts that their owners come back to."""
