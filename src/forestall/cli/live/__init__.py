"""Commands of a live controller: what serves, and what asks it."""
