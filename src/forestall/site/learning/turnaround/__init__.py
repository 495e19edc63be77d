"""When a job will be done: distributions of waits and run times, calibrated in time order."""
