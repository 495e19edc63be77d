"""Intents carried out: written ahead, sent once, looked up, booked."""
