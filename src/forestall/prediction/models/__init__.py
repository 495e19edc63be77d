"""Online predictors of failures, all behind the one interface of `prediction.models.base`."""
