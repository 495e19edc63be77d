"""Gradient-boosted trees: trained with scikit-learn, asked without it."""
