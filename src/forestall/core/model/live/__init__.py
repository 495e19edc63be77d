"""The nouns of a live cluster: intents, the roles that may have them, and their one text form."""
