"""Job scripts as sbatch reads them, and what is held against a quote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import InputError, TraceError
from forestall.live.client.script import order_of, read_script

QUOTED = {"nodes": 16, "time": 21_600, "partition": "", "probability": 0.9}
HEAD = "#!/bin/bash\n#SBATCH -N 16 -t 6:00:00\n#SBATCH --job-name=flow # a remark\n\n"


def script(folder: Path, text: str) -> Path:
    path = folder / "job.sh"
    path.write_bytes(text.encode())
    return path


def order(folder: Path, text: str, *words: str, **more: Any) -> dict[str, Any]:
    given = {"consents": ("exclude", "requeue"), "quoted": QUOTED, **more}
    return order_of(read_script(script(folder, text)), words, Path("/site"), **given)


def test_lines_of_a_script_are_read_up_to_its_first_command(tmp_path: Path) -> None:
    text = HEAD + "# a comment\n#SBATCH --gres=gpu:4 -p 'batch'\nsrun x\n#SBATCH -N 99\n"
    read = read_script(script(tmp_path, text))
    assert read.asked == {
        "nodes": "16", "time": "6:00:00", "job-name": "flow", "gres": "gpu:4", "partition": "batch",
    }  # fmt: skip
    assert text[read.end :].startswith("srun x")


def test_an_order_has_what_sbatch_would_have(tmp_path: Path) -> None:
    told = order(tmp_path, HEAD + "srun flow\n", "-A", "physics", "--gres=gpu:4")
    assert told["name"] == "flow"
    assert told["output"] == "/site/slurm-%j.out"
    assert told["consents"] == ["exclude", "requeue"]
    assert told["asks"] == {"account": "physics", "gres": "gpu:4"}
    added = "#SBATCH --account=physics\n#SBATCH --gres=gpu:4\n#SBATCH --chdir=/site\n"
    assert told["script"] == HEAD + added + "srun flow\n"
    assert read_script(script(tmp_path, told["script"])).asked["account"] == "physics"


def test_output_and_folder_as_the_script_says(tmp_path: Path) -> None:
    text = HEAD + "#SBATCH -o logs/%x.out -D sub --comment=mine\nsrun flow\n"
    told = order(tmp_path, text, "-J", "other")
    assert told["output"] == "/site/sub/logs/%x.out"
    assert told["words"] == "mine"
    assert told["name"] == "other"
    assert "chdir=/site" not in told["script"]
    assert order(tmp_path, HEAD, "-o", "/elsewhere/x")["output"] == "/elsewhere/x"


def test_a_script_that_says_nothing_gets_what_was_quoted(tmp_path: Path) -> None:
    told = order(tmp_path, "#!/bin/sh\ntrue\n")
    assert told["name"] == "job.sh"
    assert told["partition"] == ""
    assert order(tmp_path, "#!/bin/sh", "-pfast")["partition"] == "fast"
    assert order(tmp_path, "#!/bin/sh")["script"].startswith("#!/bin/sh\n#SBATCH --chdir")


def test_no_requeue_is_no_consent(tmp_path: Path) -> None:
    assert order(tmp_path, HEAD, "--no-requeue")["consents"] == ["exclude"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-N", "8"), "--nodes=8 but the offer is for 16"),
        (("-N", "8-16"), "--nodes=8-16 but the offer is for 16"),
        (("-t", "5:00:00"), "--time=5:00:00 but the offer is for 6 h"),
        (("-t", "360"), None),
        (("-t", "0-6"), None),
        (("-t", "UNLIMITED"), "--time=UNLIMITED but"),
        (("-N", "16-16"), None),
        (("--array=1-3",), "a promise covers one job"),
        (("--deadline=now+1h",), "would end a late job"),
        (("-H",), "--hold cannot be used"),
        (("--wrap=x",), "a script is needed"),
        (("--gres",), "has no value"),
        (("extra",), "not an option of sbatch"),
        (("--gres=a'b",), "cannot be used in a script"),
        (("--gres=a\nb",), "cannot be used in a script"),
    ],
)
def test_what_contradicts_the_quote_is_refused(
    words: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    if said is None:
        order(tmp_path, HEAD, *words)
        return
    with pytest.raises(InputError) as caught:
        order(tmp_path, HEAD, *words)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_of_the_script_is_named(tmp_path: Path) -> None:
    text = "#!/bin/sh\n#SBATCH -N 4\n"
    with pytest.raises(InputError, match=r"job\.sh: #SBATCH --nodes=4 but the offer is for 16"):
        order(tmp_path, text)
    assert order(tmp_path, text, "-N", "16")
    assert order(tmp_path, text, quoted=None)


def test_variables_of_the_environment_are_options(tmp_path: Path) -> None:
    said = "SBATCH_ARRAY_INX: --array=1-3 cannot be used with a promise: a promise covers one job"
    with pytest.raises(InputError) as caught:
        order(tmp_path, HEAD, variables={"SBATCH_ARRAY_INX": "1-3"})
    assert str(caught.value) == said
    assert order(tmp_path, HEAD)  # no sbatch runs here
    limit = {"SBATCH_TIMELIMIT": "7"}  # wins over the script's
    with pytest.raises(InputError, match="SBATCH_TIMELIMIT: --time=7 but the offer is for 6 h"):
        order(tmp_path, HEAD, variables=limit)
    assert order(tmp_path, HEAD, "-t", "360", variables=limit)
    assert order(tmp_path, HEAD, variables={"SBATCH_PARTITION": "fast"})["partition"] == "fast"
    kept = order(tmp_path, HEAD, variables={"SBATCH_NO_REQUEUE": "1"})["consents"]
    assert kept == ["exclude"]


def test_another_partition_than_quoted(tmp_path: Path) -> None:
    quoted = {**QUOTED, "partition": "fast"}
    assert order(tmp_path, HEAD, quoted=quoted)["partition"] == "fast"
    with pytest.raises(InputError, match="but the offer is for fast"):
        order(tmp_path, HEAD, "-p", "slow", quoted=quoted)


def test_other_features_than_quoted(tmp_path: Path) -> None:
    quoted = {**QUOTED, "features": "a100"}
    assert order(tmp_path, HEAD, quoted=quoted)
    assert order(tmp_path, HEAD, "-C", "a100", quoted=quoted)
    with pytest.raises(InputError, match="but the offer is for a100"):
        order(tmp_path, HEAD, "-C", "h100", quoted=quoted)
    with pytest.raises(InputError, match="but the offer is for no features"):
        order(tmp_path, HEAD, "--constraint=h100")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"echo x\n", "expected a first line such as"),
        (b"", "expected a first line such as"),
        (b"#!/bin/sh\r\necho\r\n", "DOS line endings"),
        (b"#!/bin/sh\0", "a NUL"),
        (b"#!/bin/sh\n\xff", "is not UTF-8"),
        (b"#!/bin/sh\n#SBATCH --time\n", ":2: .*has no value"),
        (b"#!/bin/sh\n#SBATCH 'x\n", ":2: "),
        (b"#!" + b"x" * 2**23, "Slurm takes at most"),
    ],
)
def test_what_sbatch_would_not_take(raw: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(raw)
    with pytest.raises(TraceError, match=said):
        read_script(path)


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_script(tmp_path / "none.sh")
