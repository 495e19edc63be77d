"""What a controller needs on its machine: looked at, and said what to do where it is missing."""
