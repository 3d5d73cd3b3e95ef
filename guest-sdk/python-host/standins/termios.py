"""`termios` for the sandbox: no open file is a terminal, so every call fails as natively for such a file."""

TCSANOW, TCSADRAIN, TCSAFLUSH = 0, 1, 2
TCIFLUSH, TCOFLUSH, TCIOFLUSH = 0, 1, 2
ECHO, ICANON, ISIG, IEXTEN = 8, 2, 1, 32768
VMIN, VTIME, VINTR, VERASE = 6, 5, 0, 2
TIOCGWINSZ, TIOCSWINSZ, TIOCSCTTY, TIOCNOTTY, FIONREAD = 0x5413, 0x5414, 0x540E, 0x5422, 0x541B


class error(Exception):
    """The error of the functions of this module."""


def tcgetattr(fd):
    """Fails."""
    del fd
    raise error(25, "Inappropriate ioctl for device")


def tcsetattr(fd, when, attributes):
    """Fails."""
    del when, attributes
    tcgetattr(fd)


def tcflush(fd, queue):
    """Fails."""
    del queue
    tcgetattr(fd)


def tcdrain(fd):
    """Fails."""
    tcgetattr(fd)
