"""What collecting fewer metrics, or less often, costs a predictor and saves."""
