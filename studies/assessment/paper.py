"""What the paper prints.

J. Brandt, F. Chen, V. De Sapio, A. Gentile, J. Mayo, P. Pébay, D. Roe, D. Thompson, M. Wong:
"Quantifying Effectiveness of Failure Prediction and Response in HPC Systems: Methodology and
Example", 2010.
"""

from __future__ import annotations

from typing import Final

PAPER: Final = (
    "Brandt, Chen, De Sapio, Gentile, Mayo, Pébay, Roe, Thompson, Wong: Quantifying Effectiveness "
    "of Failure Prediction and Response in HPC Systems"
)
CASES: Final = (479, 540, 2036)
"""Idle periods of Cases I, II and III (Section 4.3)."""
AREA: Final = 0.562
EXCEED, DRAWS = 2, 3000
"""Area under the ROC curve, and how many of so many random ones exceed it (Section 4.4)."""
MEAN, DEVIATION = 0.06, 0.10
"""Of active memory in idle times, as a share of the total (Section 4.4)."""
SHARE, PART = 0.2, 0.8
"""Rebooting in that share of the idle periods brings that part of the benefit (Section 4.4)."""
THRESHOLD: Final = 0.09
"""Active memory from which on one reboots in that share of them (Section 4.4)."""
REBOOT: Final = 90
"""Seconds that a reboot takes."""
NODES, DAYS, JOBS, FAILED = 288, 16, 4178, 911
"""The machine, how long it was watched, its jobs, and those that did not end COMPLETED."""
