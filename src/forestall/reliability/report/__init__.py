"""How machines fail and what to do about it: analyses, fits, designs, intervals, spares."""
