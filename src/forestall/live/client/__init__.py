"""What asks a live controller over its API, as the terminal does."""
