"""`syslog` for the sandbox: messages go to the system's log if the module is granted its socket, `/dev/log`, for writing.

Without the grant they are dropped. `syslog` reports no errors natively either.
"""

import sys

from modbox_python import host

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
(LOG_KERN, LOG_USER, LOG_MAIL, LOG_DAEMON, LOG_AUTH, LOG_SYSLOG, LOG_LPR, LOG_NEWS, LOG_UUCP, LOG_CRON,
 LOG_AUTHPRIV, LOG_FTP) = range(0, 12 * 8, 8)
(LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7) = range(128, 192, 8)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32

_ALL = 0xFF

# Characters of a message and a tag. The host sends as many bytes, and takes no call with megabytes.
_LONGEST = 8192


class _Log:
    """The settings that `openlog` and `setlogmask` make."""

    ident = None
    options = 0
    facility = LOG_USER
    mask = _ALL

    def send(self, priority, message):
        """Sends a message, if its urgency is in the mask."""
        if not self.mask & LOG_MASK(priority & 7):
            return
        facility = 0 if priority & ~7 else self.facility
        tag = _program() if self.ident is None else self.ident
        if self.options & LOG_PERROR:
            print(f"{tag}: {message}", file=sys.stderr)
        if host.is_live():
            host.system_log.add(priority | facility, tag[:_LONGEST], message[:_LONGEST])


_LOG = _Log()


def _program():
    """Returns the name of the program, as CPython takes it from `sys.argv`."""
    return sys.argv[0].rpartition("/")[2] if sys.argv else ""


def openlog(ident=None, logoption=0, facility=LOG_USER):
    """Sets the tag, the options and the facility of the messages that follow. The host has no use for most options."""
    _LOG.ident = _program() if ident is None else ident
    _LOG.options, _LOG.facility = logoption, facility


def syslog(priority, message=None):
    """Sends a message: `syslog(message)` or `syslog(priority, message)`."""
    if message is None:
        priority, message = LOG_INFO, priority
    if not isinstance(message, str) or not isinstance(priority, int):
        raise TypeError("syslog() takes [priority,] message string")
    _LOG.send(priority, message)


def closelog():
    """Makes the settings those of the beginning."""
    _LOG.ident, _LOG.options, _LOG.facility = None, 0, LOG_USER


def setlogmask(maskpri):
    """Sets which urgencies are sent, and returns what was set before. A mask of 0 changes nothing."""
    before = _LOG.mask
    _LOG.mask = maskpri or before
    return before


def LOG_MASK(pri):
    """Returns the mask of a priority."""
    return 1 << pri


def LOG_UPTO(pri):
    """Returns the mask of a priority and all more urgent ones."""
    return (1 << (pri + 1)) - 1
