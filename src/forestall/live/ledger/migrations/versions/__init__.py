"""The steps, oldest first; what they say is never changed once it was released."""
