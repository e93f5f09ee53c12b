"""The ``garrote`` command in processes of its own, as a user runs it."""

import os
import signal
import subprocess
import sys
from inspect import signature
from pathlib import Path

from click.testing import CliRunner

GARROTE = Path(sys.executable).parent / "garrote"

#: Seconds after which a hanging process fails its test.
PATIENCE = 120


def garrote(*arguments, folder):
    """Run the command in a folder; returns the finished process with its text."""
    return subprocess.run(
        [GARROTE, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def start(*arguments, folder):
    """Start the command; SIGINT reaches it even where the tests themselves ignore it."""
    return subprocess.Popen(
        [GARROTE, *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def interrupt(process):
    """Send SIGINT; returns the exit code and both outputs."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def run_here(command, arguments):
    """Run a click command in this process; stdout and stderr apart, which newer versions of click always do."""
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    return CliRunner(**apart).invoke(command, arguments)


def files(folder):
    """Every file below a folder, by its relative path."""
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if not path.is_dir()}


def wait_for_reader(fifo):
    """Block until a process has opened the pipe to read; returns the writing end."""
    return os.open(fifo, os.O_WRONLY)
