"""The same work on many things by workers of a cluster, as they finish.

Dask's scheduler runs here, or where the user says; workers are jobs of Slurm, or whoever has joined
that scheduler. What a worker had under way when it died is done again by another; a job of ours
that ends is replaced. Connections between our scheduler and its workers are encrypted, with a
certificate made for the run, since whoever reaches a Dask scheduler can run programs.
"""

from __future__ import annotations

import pickle
import shutil
import signal
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from forestall.__about__ import __version__
from forestall.core.dask.place import MEBI, WORKERS, DaskPlace, Place, SlurmPlace
from forestall.core.model.errors import InputError, MissingExtraError, UnreachableError

_ctrl_c = signal.getsignal(signal.SIGINT)
try:
    import dask
    import distributed
    from dask_jobqueue import SLURMCluster
    from distributed.scheduler import KilledWorker
except ImportError:
    raise MissingExtraError("work on a cluster", "scale") from None
finally:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _ctrl_c)  # dask_jobqueue takes it for its own as it is loaded

Thing = TypeVar("Thing")
Made = TypeVar("Made")

LOOK: Final = 2.0
"""Seconds between two looks at whether workers are missing."""
DEATHS: Final = 10
"""Workers that may die with the same piece of work before it is given up."""
LIMIT: Final = 30.0
"""Seconds that a scheduler has to answer."""
SETTINGS: Final = {
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.deploy.lost-worker-timeout": "2s",
    "distributed.admin.large-graph-warning-threshold": "1 TiB",
    "jobqueue.slurm.job-extra-directives": [],
}


def over_cluster(
    place: Place,
    do: Callable[[Thing, Any], Made],
    things: Sequence[Thing],
    given: object,
    *,
    workers: int = 0,
    folder: Path,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[tuple[int, Made]]:
    """Yield the number of each thing and ``do(thing, given)``, as they finish.

    Parameters
    ----------
    do : a function of a module that workers can import
    given : the same for all; each worker gets it once
    workers : worker jobs that are asked of Slurm (0: 8, or as many as there are things)
    folder : seen by this machine and the workers, for what the run needs of files
    tell : told what becomes of workers

    Raises InputError where Slurm refuses the jobs, workers have another version, or die again and
    again with the same thing; UnreachableError where no scheduler answers; what `do` raises.
    """
    with _client(place, workers or min(WORKERS, len(things)), folder, tell) as (client, look):
        # The data travel as an argument: should every worker that holds them die, they are made
        # anew from it.
        held = client.submit(_Held, pickle.dumps(given, protocol=5), pure=False)
        numbers = {
            client.submit(_done, do, thing, held, __version__, pure=False): number
            for number, thing in enumerate(things)
        }
        while numbers:
            look()
            try:
                ready = distributed.wait(
                    list(numbers), timeout=LOOK, return_when="FIRST_COMPLETED"
                ).done
            except TimeoutError:
                continue
            for future in ready:
                yield numbers.pop(future), _result(future)


def _result(future: Any) -> Any:
    """Return what a worker made."""
    try:
        return future.result()
    except KilledWorker:
        raise InputError(
            f"{DEATHS} workers ended with the same piece of work, perhaps for want of memory; "
            "finished points are kept: try again with more memory, as in slurm:memory=8G"
        ) from None


class _Held:
    """What a worker was given, read once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.given = pickle.loads(data)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Held, (self.data,)


def _done(do: Callable[[Any, Any], Any], thing: object, held: _Held, version: str) -> Any:
    """Do a piece of work, on a worker."""
    if version != __version__:
        raise InputError(f"a worker has forestall {__version__}; it needs {version}, as here")
    return do(thing, held.given)


@contextmanager
def _client(
    place: Place, workers: int, folder: Path, tell: Callable[[str], None]
) -> Iterator[tuple[Any, Callable[[], None]]]:
    """Hold a client of the place's scheduler, and what is to be called now and then."""
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stack.enter_context(dask.config.set(SETTINGS))
        if isinstance(place, DaskPlace):
            try:
                client = stack.enter_context(
                    distributed.Client(f"tcp://{place.address}", timeout=LIMIT)
                )
            except (OSError, ValueError) as error:
                told = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise UnreachableError(f"dask://{place.address}: no scheduler ({told})") from None
            looked = _Look(tell, "workers have joined this scheduler")
            yield client, lambda: looked(client, None)
            return
        cluster = stack.enter_context(_cluster(place, folder, stack))
        _check(cluster, tell, workers)
        client = stack.enter_context(distributed.Client(cluster))
        jobs = _Look(tell, f"of {workers} worker jobs run")

        def look() -> None:
            # Asks for those that are missing, at first all of them.
            cluster.scale(workers)
            jobs(client, workers)

        yield client, look


class _Look:
    """Says how many workers there are, where that has changed."""

    def __init__(self, tell: Callable[[str], None], what: str) -> None:
        self.tell, self.what, self.before = tell, what, -1

    def __call__(self, client: Any, _wanted: int | None) -> None:
        count = len(client.scheduler_info(n_workers=-1)["workers"])
        if count != self.before:
            self.before = count
            self.tell(f"{count} {self.what}")


def _cluster(place: SlurmPlace, folder: Path, stack: ExitStack) -> Any:
    """Return Dask's scheduler, whose workers are jobs of Slurm."""
    if shutil.which("sbatch") is None:
        raise InputError("slurm: no sbatch here; submit from a machine that has Slurm's commands")
    files = stack.enter_context(tempfile.TemporaryDirectory(prefix=".dask-", dir=folder))
    minutes = -(-place.time // 60)
    return SLURMCluster(
        cores=1,
        processes=1,
        memory=f"{place.memory // MEBI}MiB",
        queue=place.partition or None,
        account=place.account or None,
        walltime=str(minutes),
        interface=place.interface or None,
        job_name="forestall",
        security=_secured(Path(files)),
        shared_temp_directory=files,
        local_directory=files,
        log_directory=files,
        # A worker that cannot reach us ends, and so does its job.
        death_timeout=60,
        worker_extra_args=["--lifetime", f"{max(30, place.time - 60)}s", "--no-dashboard"],
        scheduler_options={"dashboard": False},
        silence_logs="critical",
    )


def _secured(folder: Path) -> Any:
    """Return a certificate for the run, in files of a folder that is ours alone."""
    made = distributed.Security.temporary()
    parts = made.get_tls_config_for_role("worker")
    files = {}
    for name in ("ca_file", "cert", "key"):
        path = folder / f"{name}.pem"
        path.write_text(parts[name])
        files[name] = str(path)
    roles = {
        f"tls_{role}_{name}": files[name]
        for role in ("client", "scheduler", "worker")
        for name in ("cert", "key")
    }
    return distributed.Security(require_encryption=True, tls_ca_file=files["ca_file"], **roles)


def _check(cluster: Any, tell: Callable[[str], None], workers: int) -> None:
    """Ask Slurm whether it would take the jobs; InputError where not."""
    tell(f"asking Slurm for {workers} worker jobs")
    done = subprocess.run(
        ["sbatch", "--test-only"], input=cluster.job_script(), capture_output=True,
        text=True, check=False, timeout=LIMIT,
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"slurm: sbatch refuses the worker jobs: {said}")
