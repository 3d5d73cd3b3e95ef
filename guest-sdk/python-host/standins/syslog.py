"""`syslog` for the sandbox. The host has no function for the system's log yet, so messages are dropped.

That is what happens natively, too, when the socket of the log is not granted: `syslog` reports no errors.
"""

LOG_EMERG, LOG_ALERT, LOG_CRIT, LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG = range(8)
(LOG_KERN, LOG_USER, LOG_MAIL, LOG_DAEMON, LOG_AUTH, LOG_SYSLOG, LOG_LPR, LOG_NEWS, LOG_UUCP, LOG_CRON,
 LOG_AUTHPRIV, LOG_FTP) = range(0, 12 * 8, 8)
(LOG_LOCAL0, LOG_LOCAL1, LOG_LOCAL2, LOG_LOCAL3, LOG_LOCAL4, LOG_LOCAL5, LOG_LOCAL6, LOG_LOCAL7) = range(128, 192, 8)
LOG_PID, LOG_CONS, LOG_ODELAY, LOG_NDELAY, LOG_NOWAIT, LOG_PERROR = 1, 2, 4, 8, 16, 32


def openlog(ident="", logoption=0, facility=LOG_USER):
    """Does nothing."""
    del ident, logoption, facility


def syslog(*arguments):
    """Drops a message."""
    del arguments


def closelog():
    """Does nothing."""


def setlogmask(maskpri):
    """Returns the mask of all priorities."""
    del maskpri
    return 0xFF


def LOG_MASK(pri):
    """Returns the mask of a priority."""
    return 1 << pri


def LOG_UPTO(pri):
    """Returns the mask of a priority and all more urgent ones."""
    return (1 << (pri + 1)) - 1
