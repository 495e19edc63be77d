"""Semi-Markov processes of availability: temporal reliability, how they are learned, a learner."""

from forestall.prediction.models.semi_markov.process import SemiMarkov, Simulated
from forestall.prediction.models.semi_markov.recursion import reliability_by_recursion

__all__ = ["SemiMarkov", "Simulated", "reliability_by_recursion"]
