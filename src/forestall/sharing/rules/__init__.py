"""Where a guest ends first, failures considered."""
