"""What Slurm says when it does not do a thing, word by word."""

from __future__ import annotations

import pytest

from forestall.core.model.faults import LookFault, WriteFault
from forestall.slurm.control.refusals import look_error, look_fault, write_error, write_fault
from forestall.slurm.run import SlurmError


# As 22.05 says it.
@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
         "failure)", WriteFault.UNREACHABLE),
        ("slurm_update error: Unable to contact slurm controller (connect failure)",
         WriteFault.UNREACHABLE),
        ("slurm_update error: Socket timed out on send/recv operation", WriteFault.AMBIGUOUS),
        ("sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
         WriteFault.AMBIGUOUS),
        ("slurm_update error: Invalid user id", WriteFault.NOT_PERMITTED),
        ("Access/permission denied for job 1", WriteFault.NOT_PERMITTED),
        ("Invalid job id specified for job 999", WriteFault.UNKNOWN_ID),
        ("slurm_update error: Invalid node name specified", WriteFault.UNKNOWN_ID),
        ("delete_reservation ReservationName=x: Requested reservation is invalid",
         WriteFault.UNKNOWN_ID),
        ("Error creating the reservation: Requested nodes are busy", WriteFault.REFUSED),
        ("Error creating the reservation: Duplicate reservation name", WriteFault.REFUSED),
        ("sbatch: error: invalid partition specified: nix", WriteFault.REFUSED),
        ("slurm_update error: Invalid node state specified", WriteFault.REFUSED),
        ("scancel: error: Kill job error on job id 7: Job can not be altered now, try again later",
         WriteFault.REFUSED),
    ],
)  # fmt: skip
def test_of_actions(said: str, fault: WriteFault) -> None:
    assert write_fault(said) is fault
    assert write_error(SlurmError("scontrol", "x", said=said), "a1").fault is fault


def test_commands_that_did_not_tell() -> None:
    """Nobody knows what they did, except where they never ran."""
    for error in (
        SlurmError("sbatch", "gave no answer", said="connection refused", late=True),
        SlurmError("sbatch", "failed with exit code 1"),
    ):
        assert write_error(error, "a1").fault is WriteFault.AMBIGUOUS
    absent = SlurmError("sbatch", "is not installed", started=False)
    assert write_error(absent, "a1").fault is WriteFault.UNSUPPORTED


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (SlurmError("squeue", "x", large=True), LookFault.TOO_LARGE),
        (SlurmError("squeue", "x", started=False), LookFault.UNAVAILABLE),
        (SlurmError("squeue", "x", late=True), LookFault.LATE),
        (SlurmError("squeue", "x", late=True, said="connection refused"), LookFault.UNREACHABLE),
        (SlurmError("squeue", "x", said="Unable to contact slurm"), LookFault.UNREACHABLE),
        (SlurmError("sacct", "x", said="Slurm accounting storage is off"), LookFault.UNAVAILABLE),
        (SlurmError("squeue", "x", said="Access/permission denied"), LookFault.NOT_PERMITTED),
        (SlurmError("squeue", "x", said="something new"), LookFault.FAILED),
    ],
)  # fmt: skip
def test_of_looks(error: SlurmError, fault: LookFault) -> None:
    assert look_error(error, "queue").fault is fault


def test_socket_timeouts_of_a_question_are_late() -> None:
    assert look_fault("slurm_load_jobs error: Socket timed out") is LookFault.LATE
