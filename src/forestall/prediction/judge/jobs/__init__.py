"""A node metric judged as a predictor of failed jobs."""
