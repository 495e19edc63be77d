features_of=None
