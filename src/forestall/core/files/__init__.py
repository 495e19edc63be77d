"""How files are read and written, whatever is in them."""
