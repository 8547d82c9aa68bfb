from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from autocompact.errors import InvalidInput
from autocompact.memory.schedule import crontab, systemd_units

PROGRAM = Path("/opt/my tools/compress-context")
FOLDER = Path('/home/ada/it\'s 100% "$HOME"/.autocompact')


@pytest.mark.requirement("C5")
def test_a_crontab_runs_both_jobs_with_paths_quoted():
    lines = [line for line in crontab(PROGRAM, FOLDER).splitlines() if not line.startswith("#")]
    commands = [line.split(" ", 5) for line in lines]
    assert [" ".join(parts[:5]) for parts in commands] == ["0 0 * * 0", "0 14 1 * *"]
    words = [shlex.split(parts[5].replace(r"\%", "%")) for parts in commands]
    assert [each[:-2] for each in words] == [
        [str(PROGRAM), "--dir", str(FOLDER), "--observations"],
        [str(PROGRAM), "--dir", str(FOLDER), "--tasks", "--report"],
    ]
    assert "%" not in crontab(PROGRAM, FOLDER).replace(r"\%", "")


@pytest.mark.requirement("C5")
def test_systemd_units_run_both_jobs_also_after_a_downtime():
    units = systemd_units(PROGRAM, FOLDER)
    assert set(units) == {
        "autocompact-weekly.service", "autocompact-weekly.timer",
        "autocompact-monthly.service", "autocompact-monthly.timer",
    }  # fmt: skip
    assert "OnCalendar=Sun *-*-* 00:00:00\nPersistent=true\n" in units["autocompact-weekly.timer"]
    assert "OnCalendar=*-*-01 00:00:00 UTC\n" in units["autocompact-monthly.timer"]
    service = units["autocompact-monthly.service"]
    assert "SuccessExitStatus=3" in service
    assert (
        'ExecStart="/opt/my tools/compress-context" --dir '
        '"/home/ada/it\'s 100%% \\"$$HOME\\"/.autocompact" --tasks --report\n' in service
    )


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path):
    program = tmp_path / "compress-context"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name, text in systemd_units(program, tmp_path / "a b").items():
        (tmp_path / name).write_text(text)
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(tmp_path / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert str(tmp_path) not in done.stderr, done.stderr


@pytest.mark.parametrize("folder", [Path("/a\nb"), Path("/a\rb")])
def test_a_path_with_a_line_break_is_refused(folder: Path):
    with pytest.raises(InvalidInput, match="line break"):
        crontab(PROGRAM, folder)
    with pytest.raises(InvalidInput, match="line break"):
        systemd_units(PROGRAM, folder)
