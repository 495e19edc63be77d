"""The engine where jobs share nodes."""
