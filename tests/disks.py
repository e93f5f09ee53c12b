"""Disks that are full, or read-only: a small tmpfs where mounting is allowed, limits of the process elsewhere."""

import os
import resource
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A folder whose room can be taken away."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder, self.mounted = folder, mounted

    @contextmanager
    def room(self, n_bytes: int):
        """Only so many bytes are left: on the disk, or, where nothing could be mounted, for each file."""
        with self._filled(n_bytes) if self.mounted else _limited(n_bytes):
            yield

    @contextmanager
    def read_only(self):
        """Nothing can be written."""
        if self.mounted:
            _mount("-o", "remount,ro", self.folder)
        else:
            self.folder.chmod(0o555)
        try:
            yield
        finally:
            if self.mounted:
                _mount("-o", "remount,rw", self.folder)
            else:
                self.folder.chmod(0o755)

    @contextmanager
    def _filled(self, n_bytes: int):
        ballast = self.folder / ".ballast"
        room = os.statvfs(self.folder)
        with ballast.open("wb") as file:
            file.write(b"\0" * (room.f_bavail * room.f_bsize - n_bytes))
        try:
            yield
        finally:
            ballast.unlink()


@contextmanager
def _limited(n_bytes: int):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def _mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path):
    """A disk of 16 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", "size=16m", "garrote", folder)
    except (OSError, subprocess.CalledProcessError):
        if os.geteuid() == 0:  # to whom a folder's mode means nothing
            pytest.fail("A tmpfs cannot be mounted, and root can write everywhere: run the tests as another user.")
        warnings.warn("No tmpfs can be mounted: full disks are tested by RLIMIT_FSIZE and chmod.", stacklevel=1)
        yield SmallDisk(folder, mounted=False)
        return
    yield SmallDisk(folder, mounted=True)
    subprocess.run(["umount", str(folder)], check=True)
