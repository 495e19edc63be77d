"""A server that runs as an ordinary user, as the shipped unit has it, on a real Slurm: any user
submits their own job under a promise, and nobody gets at anything that is not theirs."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from forestall.core._kept import cache_folder
from slurm_cluster.cluster import Cluster as RealSlurm
from slurm_cluster.cluster import why_not

pytestmark = pytest.mark.slow

SERVICE, USERS, ATTACKER = "bin", ("daemon", "mail", "news"), "games"
SECRET = "a-password-of-the-server"
SETTINGS = """
[serve]
ledger = "sqlite:///{folder}/ledger.db"
socket = "{folder}/api.sock"
port = 0
cycle = 2

[guard]
fresh = 60

[keeper]
switch = "on"
percent = 100
partition_percent = 100

[slurm]
submit_as_owner = {owner}
timeout = 20
"""
SCRIPT = "#!/bin/sh\n#SBATCH -o {out}\nid -un\nid -G\necho mine=$MINE secret=$SECRET home=$HOME\n"


@pytest.fixture(scope="module")
def slurm() -> Iterator[RealSlurm]:
    if reason := why_not():
        pytest.skip(reason)
    with RealSlurm(plain=3, with_gpus=1) as running:
        running.command("sacctmgr", "-i", "add", "account", "site")
        operator = ("account=site", "adminlevel=Operator")
        running.command("sacctmgr", "-i", "add", "user", SERVICE, *operator)
        yield running


class Served:
    """A server on a real cluster, run by a user; people reach it on its socket."""

    def __init__(self, slurm: RealSlurm, folder: Path, user: str, owner: bool) -> None:
        self.slurm, self.folder = slurm, folder
        folder.mkdir(mode=0o755)
        shutil.chown(folder, user)
        settings = folder / "forestall.toml"
        settings.write_text(SETTINGS.format(folder=folder, owner=str(owner).lower()))
        self._environment = {
            **slurm.environment, "SECRET": SECRET, "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }  # fmt: skip
        if (kernels := cache_folder()) is not None:  # what is compiled already
            own = folder / "cache" / "forestall" / kernels.name
            shutil.copytree(kernels, own)
            for path in (folder / "cache", *(folder / "cache").rglob("*")):
                shutil.chown(path, user)
        self.process = subprocess.Popen(
            as_user(user, sys.executable, "-m", "forestall", "serve",
                    "--settings", str(settings), "--json"),
            stdout=subprocess.PIPE, text=True, env=self._environment, cwd="/",
        )  # fmt: skip
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline()]
        while lines[-1] != "}\n":
            assert lines[-1], "it ended"
            lines.append(self.process.stdout.readline())
        (folder / "api.sock").chmod(0o666)

    def forestall(self, user: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a user, in a folder of theirs."""
        home = self.folder / f"of-{user}"
        home.mkdir(mode=0o755, exist_ok=True)
        shutil.chown(home, user)
        environment = {
            **self.slurm.environment, "HOME": str(home), "XDG_CACHE_HOME": str(home),
            "PYTHONPATH": os.pathsep.join(sys.path), **more,
        }  # fmt: skip
        command = as_user(user, sys.executable, "-m", "forestall", *words)
        return subprocess.run(
            command, env=environment, cwd=home, capture_output=True, text=True, timeout=240,
            check=False,
        )  # fmt: skip

    def ask(self, user: str, method: str, path: str, body: Any = None) -> httpx.Response:
        """Ask the API as a user: a process of theirs connects to the socket."""
        program = (
            "import httpx,json,sys\n"
            "socket,method,path,body=sys.argv[1:]\n"
            "with httpx.Client(transport=httpx.HTTPTransport(uds=socket),timeout=60) as client:\n"
            "    a=client.request(method,'http://localhost/api/v1'+path,json=json.loads(body))\n"
            "print(a.status_code);print(a.text)\n"
        )
        words = (str(self.folder / "api.sock"), method, path, json.dumps(body))
        done = subprocess.run(
            as_user(user, sys.executable, "-c", program, *words), capture_output=True, text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}, check=True,
            timeout=90, cwd="/",
        )  # fmt: skip
        status, _, text = done.stdout.partition("\n")
        return httpx.Response(int(status), text=text)

    def quoted(self, user: str, nodes: int = 1) -> Any:
        """Return an offer for a job of two minutes."""
        question = {"nodes": nodes, "time": 120, "partition": "main"}
        end = time.monotonic() + 120
        while True:
            told = self.ask(user, "POST", "/quotes", question)
            if told.status_code == 200 and told.json()["offers"]:
                return told.json()["offers"][0]
            assert time.monotonic() < end, told.text
            time.sleep(0.5)

    def taken(self, user: str, nodes: int = 1) -> Any:
        """Take an offer whose job its owner submits."""
        offer = self.quoted(user, nodes)["id"]
        told = self.ask(user, "POST", "/promises", {"offer": offer, "job": {}})
        assert told.status_code == 201, told.text
        assert told.json()["submit"], told.text
        return told.json()

    def ended(self, user: str, promise: str) -> Any:
        """Return a promise once it is over."""
        end = time.monotonic() + 120
        while True:
            told = self.ask(user, "GET", f"/promises/{promise}").json()
            if told["outcome"] != "open":
                return told
            assert time.monotonic() < end, told
            time.sleep(0.5)

    def sbatch(self, user: str, *options: str, script: str = "#!/bin/sh\nsleep 30\n") -> int:
        """Submit a script as a user would by hand."""
        path = self.slurm.folder / "jobs" / f"{user}.sh"
        path.write_text(script)
        path.chmod(0o755)
        words = ("sbatch", "--parsable", "-o", "/dev/null", *options, str(path))
        done = self.slurm.command(*words, user=user)
        return int(done.stdout)

    def job_seen(self, user: str, number: int) -> None:
        """Wait for a look that has a job."""
        end = time.monotonic() + 60
        while all(one["id"] != number for one in self.ask(user, "GET", "/jobs").json()["jobs"]):
            assert time.monotonic() < end
            time.sleep(0.5)

    def job(self, user: str, number: int) -> Any:
        """Return a job as its owner sees it, once it is seen."""
        end = time.monotonic() + 60
        while True:
            jobs = self.ask(user, "GET", "/jobs").json()["jobs"]
            found = [one for one in jobs if one["id"] == number]
            if found and (found[0]["promise"] or found[0]["remark"]):
                return found[0]
            assert time.monotonic() < end, jobs
            time.sleep(0.5)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


def submitted(
    served: Served, user: str, text: str | None, *words: str, **variables: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Take an offer for a script (None: the one that is there); return what came, and the offer."""
    offer = served.quoted(user)["id"]
    served.forestall(user, "--version")  # their folder is made
    if text is not None:
        (served.folder / f"of-{user}" / "job.sh").write_text(text)
    socket = ("--socket", str(served.folder / "api.sock"), "--json")
    options = ("submit", "--quote", offer, "job.sh", *words, *socket)
    return served.forestall(user, *options, **variables), offer


def as_user(user: str, *words: str) -> list[str]:
    """Return a command as a user runs it after a login, with their groups."""
    known = pwd.getpwnam(user)
    rights = ("--reuid", user, "--regid", str(known.pw_gid), "--init-groups")
    return ["setpriv", *rights, *words]


@pytest.fixture(scope="module")
def served(slurm: RealSlurm) -> Iterator[Served]:
    running = Served(slurm, slurm.folder / "served", SERVICE, owner=False)
    try:
        yield running
    finally:
        running.end()
        assert running.process.returncode == 0


@pytest.fixture(autouse=True)
def nothing_runs(slurm: RealSlurm) -> Iterator[None]:
    """Leave an empty cluster to the next test."""
    yield
    slurm.command("scancel", "--user", ",".join((*USERS, ATTACKER)), check=False)


@pytest.mark.parametrize("user", USERS)
def test_any_user_submits_their_own_job_and_the_promise_is_kept(served: Served, user: str) -> None:
    offer = served.quoted(user)
    home = served.folder / f"of-{user}"
    served.forestall(user, "--version")  # their folder is made
    (home / "job.sh").write_text(SCRIPT.format(out="told.txt"))
    socket = ("--socket", str(served.folder / "api.sock"))
    done = served.forestall(
        user, "submit", "--quote", offer["id"], "job.sh", "--comment=my words",
        "-J", "my job", *socket, "--json", MINE="yes",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    told = served.ended(user, made["id"])
    assert (told["outcome"], told["job"]) == ("kept", made["job"])
    name, groups, variables = (home / "told.txt").read_text().splitlines()
    known = pwd.getpwnam(user)
    assert name == user
    assert set(map(int, groups.split())) == set(os.getgrouplist(user, known.pw_gid))
    assert variables == f"mine=yes secret= home={home}"
    comment = served.slurm.recorded(made["job"], "Comment")
    assert comment
    assert comment[-1].endswith(" my words")
    shown = served.forestall(user, "promise", made["id"], *socket)
    assert shown.stdout.startswith("Kept: ")


def test_what_sbatch_refuses_is_given_back(served: Served) -> None:
    user = USERS[0]
    offer = served.quoted(user)
    served.forestall(user, "--version")
    (served.folder / f"of-{user}" / "job.sh").write_text("#!/bin/sh\ntrue\n")
    socket = ("--socket", str(served.folder / "api.sock"))
    done = served.forestall(
        user, "submit", "--quote", offer["id"], "job.sh", "--gres=none:1", *socket
    )
    assert done.returncode != 0
    assert "sbatch refused the job: " in done.stderr
    assert "Traceback" not in done.stderr
    told = served.ask(user, "GET", f"/promises/{offer['id']}").json()
    assert (told["outcome"], told["why"]) == ("void", f"{user} gave it back")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--array=1-2",), "it is an array"),
        (("--nodes=2",), "it asks for 2 nodes; the offer is for 1 node"),
        (("--time=9",), "it has a limit of 9 min; the offer is for 2 min"),
        (("--partition=spare",), "it is in partition spare; the offer is for main"),
        (("--hold",), "it is held"),
        (("--begin=now+1hour",), "it may not begin before a time of its own"),
    ],
)
def test_a_job_that_is_not_what_was_promised_runs_without_a_promise(
    served: Served, options: tuple[str, ...], why: str
) -> None:
    user = USERS[1]
    made = served.taken(user)
    number = served.sbatch(user, *made["submit"], *options)
    told = served.ended(user, made["id"])
    assert (told["outcome"], told["cause"]) == ("void", "user")
    assert why in told["why"]
    assert served.slurm.state(number)  # the job itself is left alone
    job = served.job(user, number)
    assert job["promise"] == ""
    assert why in job["remark"]


def test_a_tag_is_good_for_one_job_of_its_owner(served: Served) -> None:
    user = USERS[2]
    made = served.taken(user)
    tag = next(one for one in made["submit"] if one.startswith("--comment="))
    rest = [one for one in made["submit"] if one not in (tag,) and "reservation" not in one]
    stolen = served.sbatch(ATTACKER, tag, *rest)
    unsealed = served.sbatch(user, tag.partition(".")[0], *rest)
    forged = served.sbatch(user, tag[:-4] + "0000", *rest)
    for owner, number in ((ATTACKER, stolen), (user, unsealed), (user, forged)):
        assert served.job(owner, number)["promise"] == ""
        assert "no open promise" in served.job(owner, number)["remark"]
    number = served.sbatch(user, *made["submit"])
    assert served.job(user, number)["promise"] == made["id"]
    again = served.sbatch(user, *made["submit"])
    assert served.job(user, again)["remark"] == (
        f"promise {made['id']} is job {number}'s; a tag is good once"
    )
    served.slurm.command("scancel", str(number), user=user)
    assert served.ended(user, made["id"])["cause"] == "user"
    assert served.job(user, again)["promise"] == ""


def test_nobody_touches_the_promises_of_others(served: Served) -> None:
    made = served.taken(USERS[0])
    where = f"/promises/{made['id']}"
    for method, path, body in (
        ("GET", where, None), ("DELETE", where, None), ("POST", f"{where}/job", {"job": 1}),
        ("POST", "/promises", {"offer": made["id"], "job": {}}),
    ):  # fmt: skip
        told = served.ask(ATTACKER, method, path, body)
        assert told.status_code in (404, 409), told.text
        assert "no promise" in told.text or "no offer" in told.text
    # One who has submitted nothing can claim no job for it, and not take it twice.
    assert served.ask(USERS[0], "POST", f"{where}/job", {"job": 1}).status_code == 409
    again = served.ask(USERS[0], "POST", "/promises", {"offer": made["id"], "job": {}})
    assert again.json()["submit"] == made["submit"]
    told = served.ask(USERS[0], "POST", "/promises",
                      {"offer": made["id"], "job": {"script": "#!/bin/sh\n"}})  # fmt: skip
    assert told.status_code == 409
    assert served.ask(USERS[0], "DELETE", where).json()["outcome"] == "void"


@pytest.mark.parametrize(
    ("text", "words", "variables", "said"),
    [
        ("#SBATCH --arr=1-3", (), {}, "job.sh: #SBATCH --array=1-3 cannot be used with a promise"),
        ("# x\fy\n#SBATCH -H", (), {}, "job.sh: #SBATCH --hold cannot be used with a promise"),
        ("#PBS -t 1-3", (), {}, "#PBS lines cannot be used with a promise"),
        ("", ("--dep=afterok:1",), {}, "--dependency=afterok:1 cannot be used with a promise"),
        ("", (), {"SBATCH_ARRAY_INX": "1-3"}, "SBATCH_ARRAY_INX: --array=1-3 cannot be used"),
    ],
)
def test_options_that_no_offer_stands_for_are_refused_at_the_terminal(
    served: Served, text: str, words: tuple[str, ...], variables: dict[str, str], said: str
) -> None:
    """Nothing is taken, and nothing submitted."""
    user = USERS[0]
    done, offer = submitted(served, user, f"#!/bin/sh\n{text}\ntrue\n", *words, **variables)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert served.ask(user, "GET", f"/promises/{offer}").status_code == 404


def test_links_and_files_of_others_are_read_with_the_rights_of_who_submits(
    served: Served,
) -> None:
    hidden = served.folder / "hidden.sh"
    hidden.write_text(f"#!/bin/sh\necho {SECRET}\n")
    hidden.chmod(0o600)
    link = served.folder / f"of-{ATTACKER}" / "job.sh"
    served.forestall(ATTACKER, "--version")
    link.unlink(missing_ok=True)
    link.symlink_to(hidden)
    done, _ = submitted(served, ATTACKER, None)
    assert done.returncode == 2
    assert "path 'job.sh' is not readable" in done.stderr
    link.unlink()
    option = f"--export-file={hidden}"
    done, offer = submitted(served, ATTACKER, "#!/bin/sh\ntrue\n", option)
    assert SECRET not in done.stdout + done.stderr
    if done.returncode:  # sbatch refuses: the promise is given back
        told = served.ask(ATTACKER, "GET", f"/promises/{offer}").json()
        assert told["outcome"] == "void"


@pytest.mark.parametrize("option", ["--nice=-5000", "--priority=4000000", "--uid=root"])
def test_a_promise_gives_no_rights_in_slurm(slurm: RealSlurm, served: Served, option: str) -> None:
    done, offer = submitted(served, ATTACKER, "#!/bin/sh\nsleep 5\n", option)
    if done.returncode:
        assert "Traceback" not in done.stderr
        told = served.ask(ATTACKER, "GET", f"/promises/{offer}")
        assert told.status_code == 404 or told.json()["outcome"] == "void"
        return
    number = json.loads(done.stdout)["job"]
    shown = slurm.command("scontrol", "show", "job", str(number)).stdout
    assert f"UserId={ATTACKER}(" in shown
    assert "Nice=-" not in shown
    assert "Priority=4000000" not in shown


def test_a_number_of_a_job_proves_nothing(served: Served) -> None:
    """Neither the number of another's job, nor one that comes again, carries a promise."""
    user, other = USERS[0], USERS[1]
    made = served.taken(user)
    number = served.sbatch(other)
    served.job_seen(other, number)
    where = f"/promises/{made['id']}/job"
    assert served.ask(user, "POST", where, {"job": number}).status_code == 409
    mine = served.sbatch(user, *made["submit"])
    told = served.ask(user, "POST", where, {"job": number})
    assert told.status_code == 409, told.text
    assert f"job {number} " in told.json()["detail"]
    assert served.job(user, mine)["promise"] == made["id"]
    assert served.ask(user, "GET", f"/promises/{made['id']}").json()["job"] == mine


def test_a_token_of_no_user_gets_offers_and_is_told_why_it_cannot_take_one(
    served: Served,
) -> None:
    made = served.forestall(SERVICE, "serve", "token", "add", "somebody-else", "--settings",
                            str(served.folder / "forestall.toml"))  # fmt: skip
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    transport = httpx.HTTPTransport(uds=str(served.folder / "api.sock"))
    with httpx.Client(transport=transport, headers=headers, timeout=60) as client:
        where = "http://localhost/api/v1"
        question = {"nodes": 1, "time": 120, "partition": "main"}
        offers = client.post(f"{where}/quotes", json=question).json()["offers"]
        told = client.post(f"{where}/promises", json={"offer": offers[0]["id"], "job": {}})
    assert told.status_code == 409
    assert "is no user of this machine" in told.json()["detail"]


def test_a_job_that_its_partition_never_starts_has_no_offer(
    slurm: RealSlurm, served: Served
) -> None:
    slurm.command("scontrol", "update", "PartitionName=spare", "MaxTime=1-0", "MaxNodes=2")
    time.sleep(5)  # a look later
    for question, why in (
        ({"nodes": 1, "time": 2 * 86_400}, "partition spare allows 1 d; 2 d are asked for"),
        ({"nodes": 3, "time": 60}, "partition spare allows 2 nodes; 3 are asked for"),
    ):
        told = served.ask(USERS[0], "POST", "/quotes", {**question, "partition": "spare"}).json()
        assert (told["offers"], told["said"]) == ([], why)
    slurm.command("scontrol", "update", "PartitionName=spare", "State=DOWN")
    time.sleep(5)
    told = served.ask(USERS[0], "POST", "/quotes",
                      {"nodes": 1, "time": 60, "partition": "spare"}).json()  # fmt: skip
    assert told["said"] == "partition spare starts no jobs now"


def test_a_service_without_rights_submits_for_nobody_and_says_what_to_do(served: Served) -> None:
    offer = served.quoted(USERS[0])["id"]
    job = {"script": "#!/bin/sh\ntrue\n"}
    told = served.ask(USERS[0], "POST", "/promises", {"offer": offer, "job": job})
    assert told.status_code == 409
    assert "submit it yourself with forestall submit" in told.json()["detail"]


def test_a_service_that_submits_as_owners_hands_on_nothing_of_its_own(slurm: RealSlurm) -> None:
    user = USERS[0]
    served = Served(slurm, slurm.folder / "root-served", "root", owner=True)
    try:
        hidden = served.folder / "hidden"
        hidden.write_text("PASSWORD=x")
        hidden.chmod(0o600)
        out = slurm.folder / "jobs" / "as-owner.txt"
        offer = served.quoted(user)["id"]
        job = {"script": SCRIPT.format(out=out) + "env\n"}
        told = served.ask(user, "POST", "/promises", {"offer": offer, "job": job})
        assert told.status_code == 201, told.text
        assert served.ended(user, told.json()["id"])["outcome"] == "kept"
        name, groups, _, *variables = out.read_text().splitlines()
        known = pwd.getpwnam(user)
        assert name == user
        assert set(map(int, groups.split())) == set(os.getgrouplist(user, known.pw_gid))
        assert SECRET not in "\n".join(variables)
        for line, refused in ((f"--export-file={hidden}", True), ("--nice=-5000", False)):
            offer = served.quoted(user)["id"]
            job = {"script": f"#!/bin/sh\n#SBATCH {line}\n#SBATCH -o {out}\nenv\n"}
            told = served.ask(user, "POST", "/promises", {"offer": offer, "job": job})
            if told.status_code == 201:
                assert not refused, told.text
                shown = slurm.command("scontrol", "show", "job", str(told.json()["job"])).stdout
                assert "Nice=0" in shown
            else:
                assert "PASSWORD" not in told.text
    finally:
        served.end()
