"""What the paper prints: its tables, and the numbers of its text.

T. J. Hacker and Z. Meglicki, "Using Queue Structures to Improve Job Reliability", HPDC 2007.
Times are hours, shares are per cent.
"""

from __future__ import annotations

from typing import Final

import forestall as fs

PAPER: Final = (
    "T. J. Hacker, Z. Meglicki: Using Queue Structures to Improve Job Reliability, HPDC 2007"
)

COUNTS: Final = (2002, 1604, 761, 704, 721, 618, 416, 138)
SHAPES: Final = (0.71, 0.57, 0.68, 0.71, 0.75, 0.67, 0.66, 0.64)
SCALES: Final = (80.4, 185.3, 416.4, 494.2, 514.8, 542.9, 478.8, 332.7)
"""Table 1: failures, Weibull shape and scale (h) of years 1 to 8."""

COMPONENTS: Final = (
    ("Intel SE7529AF2 mainboard", 67_640.0),
    ("Power supply", 100_000.0),
    ("CPU fan", 400_000.0),
    ("Memory", 3_860_000.0),
    ("Seagate Cheetah hard drive", 1_400_000.0),
)
"""Table 2: MTTF of a commodity node's components, h."""

NODE_TEXT, NODE_CAPTION = 35_999.0, 35_399.0
"""MTTF of that node in Section 4.3, and in the caption of Figure 6."""

BLADE_MTTF: Final = 102_840.0
SHAPE: Final = 0.75
SCALE_SHAPE: Final = 0.7
"""The shape that Table 3 states, and the one with which its scale must have been computed."""

QUEUES: Final = (
    fs.Queue("Huge", 258, 48.0, 2),
    fs.Queue("Big", 130, 48.0, 4),
    fs.Queue("Medium", 65, 72.0, 4),
    fs.Queue("Small", 5, 240.0, 4),
    fs.Queue("Interactive", 516, 1.0, 2),
)
QUEUES_WEIBULL: Final = (62.38, 38.90, 28.40, 6.10, 10.10)
QUEUES_EXPONENTIAL: Final = (11.35, 5.89, 4.45, 1.16, 0.13)
JOB_FAILURE, JOB_FAILURE_MOVED = 12.7, 7.4
"""Table 3, and F_job of Sections 5.1 and 5.3."""
MOVED: Final = {"Huge": 194, "Big": 194}
"""Nodes that Section 5.3 moves away from the interactive queue."""

LANL_MTTF: Final = 562.06
"""MTTF, h, that gives Table 4's exponential column; the paper does not print it."""
LANL_QUEUES: Final = (
    fs.Queue("Largeq", 32, 12.0),
    fs.Queue("Smallq", 14, 24.0),
    fs.Queue("Single Node", 1, 96.0),
)
LANL_WEIBULL: Final = (83.3, 22.3, 7.0)
LANL_EXPONENTIAL: Final = (49.5, 45.0, 15.7)
LANL_SUCCESS: Final = 54.5
"""Table 4, and the success rate of its jobs in Section 5.1."""
LANL_SMALLER: Final = fs.Queue("Largeq", 25, 6.0)
LANL_SMALLER_FAILURE: Final = (56.4, 23.4)
LANL_SMALLER_SUCCESS: Final = (42.0, 72.8)
"""Section 5.3's smaller Largeq: its failure and all jobs' success, Weibull and exponential."""

SPARES_NODES, SPARES_HOURS = 256, 128.0
SPARES_EXPONENTIAL: Final = (72.70, 95.90, 99.60, 99.90, 99.9990, 99.9999)
SPARES_WEIBULL: Final = (6.9, 25.4, 50.2, 72.2, 86.9, 94.7)
"""Table 5: reliability with 0 to 5 spares."""

RUNTIME_RANGE: Final = (2.96, 12.71)
"""Section 5.2: mean run time, h, of jobs of 2 and of 256 nodes."""

INTERVAL, COST, INTERVAL_MTTF, INTERVAL_SHAPE, INTERVAL_NODES = 10.0, 0.25, 100_000.0, 0.7, 81
"""Section 6: wanted checkpoint interval and its cost, h; MTTF of a node, h; shape; nodes."""

MIXED_PRICE, MIXED_COST = 2.0, 25.0
"""Section 4.4: price of a blade in commodity nodes, and how many % half of them add to the cost."""
MIXED_HOURS, MIXED_RELIABILITY = 100.0, (2.8, 6.6)
"""Section 4.4: reliability at that time of 256 commodity nodes, and of half of them blades."""
