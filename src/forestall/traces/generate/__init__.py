"""Job and failure logs made up from published models, each from a seed."""

from forestall.traces.generate.failures import Seeds, generate_failures
from forestall.traces.generate.jobs import generate_jobs
from forestall.traces.generate.laws import ConstantTimes, LognormalTimes, Repair, WeibullTimes
from forestall.traces.generate.presets import PRESETS, Preset, preset_failures
from forestall.traces.generate.times import Bursts

__all__ = [
    "PRESETS",
    "Bursts",
    "ConstantTimes",
    "LognormalTimes",
    "Preset",
    "Repair",
    "Seeds",
    "WeibullTimes",
    "generate_failures",
    "generate_jobs",
    "preset_failures",
]
