"""What a live controller serves to browsers and programs: its API, its page, its metrics."""
