"""Linear time series: exact likelihoods of ARMA models, forecasts, and predictors made of them."""
