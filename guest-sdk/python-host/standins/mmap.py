"""`mmap` for the sandbox: the names of flags. WASI cannot map a file into memory."""

from modbox_python.unsupported import Unsupported

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = 0, 1, 2, 3
MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_ANON = 1, 2, 32, 32
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
PAGESIZE = ALLOCATIONGRANULARITY = 4096
error = OSError


class mmap:
    """A file in memory, which cannot be made."""

    def __new__(cls, *_arguments, **_named):
        raise Unsupported("mmap.mmap")
