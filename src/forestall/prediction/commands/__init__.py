"""Commands on predictors: assess, predict."""
