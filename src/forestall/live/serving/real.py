"""A real Slurm cluster as the settings name it: who looks, who keeps, who asks the warden."""

from __future__ import annotations

import getpass
import os
import pwd
from collections.abc import Callable
from pathlib import Path

from forestall.core.model.errors import ParameterError, of_system
from forestall.core.model.live.intents import Role
from forestall.live.act.actor import Actor
from forestall.live.serving.settings import LiveSettings, SlurmTable
from forestall.live.warden.client import WardenActor
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.control.by_commands import CommandsUser, SlurmCommands, SlurmLimits
from forestall.slurm.control.by_rest import SlurmRest
from forestall.slurm.control.http import Server


def cluster_of(slurm: SlurmTable) -> LiveCluster:
    """Return the cluster as the advisor sees it, and where jobs are submitted. Raises
    ParameterError."""
    if slurm.via == "commands" and slurm.token:
        allowed = "none with Slurm's commands, which submit as the user who runs them"
        raise ParameterError("slurm.token", slurm.token, allowed)
    return _cluster(slurm, slurm.user, slurm.token, "slurm.user")


def keeper_of(slurm: SlurmTable) -> LiveCluster:
    """Return the cluster with the keeper's own rights, where it has some. Raises
    ParameterError."""
    user, token = slurm.keeper_user or slurm.user, slurm.keeper_token or slurm.token
    return _cluster(slurm, user, token, "slurm.keeper_user")


def _cluster(slurm: SlurmTable, user: str, token: str, key: str) -> LiveCluster:
    limits = SlurmLimits(float(slurm.timeout), float(slurm.timeout))
    if slurm.via == "commands":
        return SlurmCommands(
            limits, as_owner=slurm.submit_as_owner, user=_commands_user(user, token, key)
        )
    server = Server(slurm.url, user, _token_in(token) if token else None)
    return SlurmRest(server, limits, default=slurm.default_partition)


def _commands_user(user: str, token: str, key: str) -> CommandsUser:
    """Return with whose rights commands run: with a token those of its user, else those of a user
    of this machine. Raises ParameterError where this process may not run them so."""
    if token:
        return CommandsUser("", _token_in(token))
    if not user or user_id(user, key) == os.geteuid():
        return CommandsUser()
    if os.geteuid() != 0:
        allowed = f"{getpass.getuser()}, or one with a token, unless root runs this"
        raise ParameterError(key, user, allowed)
    return CommandsUser(user)


def _token_in(path: str) -> Callable[[], str]:
    """Return what reads a token from its file, each time anew: tokens end and are renewed."""

    def read() -> str:
        with of_system(path, "cannot be read"):
            return Path(path).read_text(encoding="ascii", errors="replace").strip()

    read()
    return read


def submits_for(slurm: SlurmTable) -> Callable[[str], bool]:
    """Return what tells whether a job can be submitted as a user's own: as the user of this
    process, or, as root, of anybody whom this machine knows."""
    if slurm.submit_as_owner and (slurm.via != "commands" or os.geteuid() != 0):
        raise ParameterError(
            "slurm.submit_as_owner", True, "false, unless root runs this with Slurm's commands"
        )
    if slurm.submit_as_owner and slurm.user not in ("", "root"):
        raise ParameterError("slurm.submit_as_owner", True, "false where slurm.user is set")
    own = slurm.user or getpass.getuser()
    return is_known if slurm.submit_as_owner else (lambda name: name == own)


def is_known(name: str) -> bool:
    """Whether a name is that of a user of this machine."""
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True


def warden_of(settings: LiveSettings) -> dict[Role, Actor]:
    """Return who reaches the warden, nobody where no socket is named."""
    warden = settings.warden
    if not warden.socket:
        return {}
    user = user_id(warden.user, "warden.user") if warden.user else None
    return {Role.WARDEN: WardenActor(Path(warden.socket), user=user)}


def user_id(name: str, key: str) -> int:
    """Return the number of a user of this machine. Raises ParameterError."""
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise ParameterError(key, name, "a user of this machine") from None
