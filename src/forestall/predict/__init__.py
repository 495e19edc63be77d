"""Online predictors of failures, all behind the one interface of `predict.base`."""
