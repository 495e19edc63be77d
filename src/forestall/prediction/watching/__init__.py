"""What a predictor is told while it watches a live cluster, and what it foresees."""
