"""What a predictor is worth: ROC, calibration, cost and benefit, alarms in time.

Everything here takes scores and outcomes as arrays, whoever made them.
"""
