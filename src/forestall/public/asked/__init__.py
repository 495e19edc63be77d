"""Functions for what commands answer: each hands a question to the use case of its command."""
