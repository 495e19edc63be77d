"""Job and failure logs made up from published models, each from a seed."""

from forestall.logs.generate.failures import Seeds, generate_failures
from forestall.logs.generate.jobs import generate_jobs
from forestall.logs.generate.laws import ConstantTimes, LognormalTimes, Repair, WeibullTimes
from forestall.logs.generate.presets import PRESETS, Preset, preset_failures
from forestall.logs.generate.shared import generate_machine, generate_shared_jobs
from forestall.logs.generate.times import Bursts

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
    "generate_machine",
    "generate_shared_jobs",
    "preset_failures",
]
