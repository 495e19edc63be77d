"""What the models of the simulator share: kinds of parameters, jobs and failures as they begin."""
