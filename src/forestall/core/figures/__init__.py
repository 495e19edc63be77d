"""What figures of several models show, and how it is drawn."""
