"""What a live controller shows over HTTP: pages and REST routes. Parsing and rendering, no logic."""
