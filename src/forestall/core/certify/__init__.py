"""What certifiers are made of: tables as they are read, findings, intervals, sums and rules. It
shares nothing with the simulators."""
