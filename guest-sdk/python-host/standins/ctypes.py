"""`ctypes` for the sandbox: numbers of fixed size. Libraries of the machine cannot be loaded, so loading is an error.

The error is the one for a missing library, which callers expect.
"""

import sys

from modbox_python.unsupported import refuse


class _Number:
    """A number of a fixed size."""

    _bits, _signed = 32, True

    def __init__(self, value=0):
        self.value = value

    def __repr__(self):
        return "%s(%r)" % (type(self).__name__, self.value)

    @property
    def value(self):
        """The number, cut to its size."""
        return self._value

    @value.setter
    def value(self, value):
        value &= (1 << self._bits) - 1
        self._value = value - (1 << self._bits) if self._signed and value >> (self._bits - 1) else value


def _number(name, bits, signed):
    return type(name, (_Number,), {"_bits": bits, "_signed": signed})


c_int8, c_int16, c_int32, c_int64 = (_number("c_int%d" % bits, bits, True) for bits in (8, 16, 32, 64))
c_uint8, c_uint16, c_uint32, c_uint64 = (_number("c_uint%d" % bits, bits, False) for bits in (8, 16, 32, 64))
# The sizes of a 64-bit Linux, where the module would run otherwise.
c_byte, c_short, c_int, c_long, c_longlong, c_ssize_t = c_int8, c_int16, c_int32, c_int64, c_int64, c_int64
c_ubyte, c_ushort, c_uint, c_ulong, c_ulonglong, c_size_t = c_uint8, c_uint16, c_uint32, c_uint64, c_uint64, c_uint64
c_time_t = c_int64


def sizeof(kind):
    """Returns the size of a number in bytes."""
    return kind._bits // 8


class _Unusable:
    """A type that only libraries need."""


class c_char_p(_Unusable):
    """A pointer to text."""


class c_void_p(_Unusable):
    """A pointer."""


class c_char(_Unusable):
    """A byte of text."""


class Structure(_Unusable):
    """A structure."""


class Union(_Unusable):
    """A union."""


class CDLL:
    """A library, which cannot be loaded. `CDLL(None)` is the program itself, which has no functions to call."""

    def __init__(self, name, *_arguments, **_named):
        if name is not None:
            raise OSError("%s: cannot open shared object file: No such file or directory" % name)

    def __getattr__(self, name):
        raise AttributeError("undefined symbol: %s" % name)


class _Loader:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return CDLL(name)

    def LoadLibrary(self, name):
        """Fails to load a library."""
        return CDLL(name)


PyDLL = CDLL
cdll = pydll = _Loader()

POINTER = pointer = byref = cast = addressof = refuse("ctypes")
create_string_buffer = create_unicode_buffer = string_at = CFUNCTYPE = refuse("ctypes")


def get_errno():
    """Returns that no library failed."""
    return 0


def set_errno(value):
    """Does nothing, and returns the number of before."""
    del value
    return 0


class _Util:
    """`ctypes.util`."""

    __name__ = "ctypes.util"

    @staticmethod
    def find_library(name):
        """Returns that a library was not found."""
        del name


util = _Util()
sys.modules["ctypes.util"] = util
