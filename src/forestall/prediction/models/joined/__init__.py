"""Linear time series and rules as one model."""
