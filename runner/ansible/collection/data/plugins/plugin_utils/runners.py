"""Finds modbox for the machines of hosts: on the controller, in these places, the first one that has it.

- `modbox-linux-MACHINE` in the folder of the variable `modbox_runner_dir` or, without it, of the environment variable
  MODBOX_RUNNER_DIR;
- the same file in `$XDG_DATA_HOME/modbox/runners` (else `~/.local/share`), `/usr/local/share/modbox/runners` and
  `/usr/share/modbox/runners`;
- the controller's own `modbox` in PATH, if it is for this machine.

If the collection was built with the digests of its runners (`meta/runners.json`), a file with another digest is passed over.

The digest of a file and, when a host asks for it, the compressed form are made once, and kept in
`$XDG_CACHE_HOME/modbox/shipments` (else `~/.cache`). Without a folder that can be written, they are made each time.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import shutil
import struct
import tempfile

# Machines, as `uname -m` names them, and their numbers in an ELF header.
MACHINES = {"x86_64": 62, "aarch64": 183}
# Files that are kept, by their endings: compressed ones in two versions for each machine, and notes.
KEPT = {".gz": 4, ".json": 16}
# Level of compression; a higher one takes several times as long for a tenth of the size.
LEVEL = 6


class Runner:
    """A file that is modbox for a machine."""

    def __init__(self, path):
        self.path = path
        self.cache = os.path.join(_folder("XDG_CACHE_HOME", "~/.cache"), "shipments")
        facts = os.stat(path)
        signs = [os.path.realpath(path), facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_dev]
        self.note = os.path.join(self.cache, hashlib.sha256(json.dumps(signs).encode()).hexdigest() + ".json")
        self.digest = self._noted() or self._learn()

    def compressed(self):
        """Returns the file compressed by gzip."""
        path = os.path.join(self.cache, f"{self.digest}.gz")
        with contextlib.suppress(OSError), self._lock():
            if not os.path.exists(path):
                self._write(path, gzip.compress(self.plain(), LEVEL))
            with open(path, "rb") as file:
                return file.read()
        return gzip.compress(self.plain(), LEVEL)

    def plain(self):
        """Returns the file as it is."""
        with open(self.path, "rb") as file:
            return file.read()

    def _noted(self):
        """Returns the digest that was noted for the file as it is now."""
        try:
            with open(self.note, encoding="utf-8") as file:
                digest = json.load(file)["digest"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return digest if isinstance(digest, str) else None

    def _learn(self):
        digest = hashlib.sha256(self.plain()).hexdigest()
        with contextlib.suppress(OSError), self._lock():
            self._write(self.note, json.dumps({"digest": digest, "path": self.path}).encode())
        return digest

    @contextlib.contextmanager
    def _lock(self):
        """Lets one process at a time write here, so that a file is compressed once."""
        os.makedirs(self.cache, mode=0o700, exist_ok=True)
        with open(os.path.join(self.cache, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, path, data):
        """Writes a file completely or not at all, and removes the oldest ones of its kind."""
        number, name = tempfile.mkstemp(dir=self.cache)
        try:
            with open(number, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        ending = os.path.splitext(path)[1]
        alike = [os.path.join(self.cache, other) for other in os.listdir(self.cache) if other.endswith(ending)]
        for other in sorted(alike, key=os.path.getmtime)[: -KEPT[ending]]:
            os.unlink(other)


class Runners:
    """The files of all machines, and those that were passed over."""

    def __init__(self, named):
        self.named = named
        self.by_machine = {}
        self.refused = {}

    def of(self, machine):
        """Returns the file for a machine, or None."""
        return self.by_machine.get(machine)

    def digests(self):
        """Returns the digests of the files, by machines."""
        return {machine: runner.digest for machine, runner in self.by_machine.items()}

    def advice(self, machine):
        """Returns the remedy for a machine without a file, with the files that were passed over."""
        places = ", ".join(folders(self.named))
        advice = f"put {file_name(machine)} into one of these folders of the controller: {places}"
        refused = self.refused.get(machine)
        if refused:
            advice += f" (passed over, since the collection was built for others: {', '.join(refused)})"
        return advice


def file_name(machine):
    """Returns the name of the file for a machine."""
    return f"modbox-linux-{machine}"


def folders(named):
    """Returns the folders that are looked at; `named` is the folder of the variable."""
    first = named or os.environ.get("MODBOX_RUNNER_DIR")
    first = [os.path.expanduser(first)] if first else []
    shared = [_folder("XDG_DATA_HOME", "~/.local/share"), "/usr/local/share/modbox", "/usr/share/modbox"]
    return first + [os.path.join(folder, "runners") for folder in shared]


def find(named):
    """Returns the files of all machines for which there is one."""
    which = shutil.which("modbox")
    own = [which] if which else []
    known = _known()
    found = Runners(named)
    for machine, number in MACHINES.items():
        paths = [os.path.join(folder, file_name(machine)) for folder in folders(named)] + own
        for path in paths:
            if not (os.path.isfile(path) and _is_for(path, number)):
                continue
            runner = Runner(path)
            if known is None or known.get(machine) == f"sha256:{runner.digest}":
                found.by_machine[machine] = runner
                break
            found.refused.setdefault(machine, []).append(path)
    return found


def _known():
    """Returns the digests that the collection was built with, by machines, or None if it was built without."""
    path = os.path.join(os.path.dirname(__file__), "../../meta/runners.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def _folder(variable, default):
    return os.path.join(os.environ.get(variable) or os.path.expanduser(default), "modbox")


def _is_for(path, number):
    """Says whether a file is a 64-bit program for a machine."""
    try:
        with open(path, "rb") as file:
            header = file.read(20)
    except OSError:
        return False
    return header[:6] == b"\x7fELF\x02\x01" and len(header) == 20 and struct.unpack_from("<H", header, 18)[0] == number
