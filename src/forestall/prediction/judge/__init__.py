"""What predictors are worth: trained, asked, and judged against what came."""
