"""The errors of `ssl`, with the words that OpenSSL has for them: messages show them, and callers look for some."""

from modbox_python.host import tls

SSL_ERROR_SSL, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_ZERO_RETURN, SSL_ERROR_EOF = 1, 2, 3, 6, 8


class SSLError(OSError):
    """An error of TLS. Its number is one of `SSL_ERROR_...`."""

    library = reason = None

    def __str__(self):
        return self.strerror if isinstance(self.strerror, str) else str(self.args)


class SSLZeroReturnError(SSLError):
    """The connection has ended in order."""


class SSLWantReadError(SSLError):
    """More must be received first."""


class SSLWantWriteError(SSLError):
    """More must be sent first."""


class SSLSyscallError(SSLError):
    """A call of the system failed."""


class SSLEOFError(SSLError):
    """The connection has ended without notice."""


class SSLCertVerificationError(SSLError, ValueError):
    """The server's certificate was refused."""

    verify_code, verify_message = 1, ""


# Modules print the names of errors.
for _error in (SSLError, SSLZeroReturnError, SSLWantReadError, SSLWantWriteError, SSLSyscallError, SSLEOFError,
               SSLCertVerificationError):
    _error.__module__ = "ssl"

# OpenSSL's numbers and words for the problems of certificates.
_PROBLEMS = {
    "UNKNOWN_AUTHORITY": (20, "unable to get local issuer certificate"),
    "EXPIRED": (10, "certificate has expired"),
    "NOT_YET_VALID": (9, "certificate is not yet valid"),
    "REVOKED": (23, "certificate revoked"),
}

_ALERTS = {
    10: "unexpected message", 20: "bad record mac", 22: "record overflow", 40: "handshake failure", 42: "bad certificate",
    43: "unsupported certificate", 44: "certificate revoked", 45: "certificate expired", 46: "certificate unknown",
    47: "illegal parameter", 48: "unknown ca", 49: "access denied", 50: "decode error", 51: "decrypt error",
    70: "protocol version", 71: "insufficient security", 80: "internal error", 86: "inappropriate fallback",
    90: "user cancelled", 109: "missing extension", 110: "unsupported extension", 112: "unrecognized name",
    116: "certificate required", 120: "no application protocol",
}


def ssl_error(reason, text=None, library="SSL"):
    """Returns an error with OpenSSL's name for its reason."""
    error = SSLError(SSL_ERROR_SSL, "[%s: %s] %s" % (library, reason, text or reason.lower().replace("_", " ")))
    error.library, error.reason = library, reason
    return error


def ended():
    """Returns the error of a connection that ended without notice."""
    error = SSLEOFError(SSL_ERROR_EOF, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol")
    error.library, error.reason = "SSL", "UNEXPECTED_EOF_WHILE_READING"
    return error


def from_host(error, server, is_address):
    """Returns the error of the host in the form of `ssl`. `server` is the name that the server should have."""
    if isinstance(error, tls.Error_Certificate):
        return _refused(error.value, server, is_address)
    if isinstance(error, tls.Error_Denied):
        return ssl_error("CERTIFICATE_VERIFY_FAILED", "the policy wants the server's certificate and name checked; `%s` "
                                                      "allows any certificate" % error.value)
    if isinstance(error, tls.Error_Alert):
        text = _ALERTS.get(error.value, "alert number %d" % error.value)
        return ssl_error("TLS_ALERT_" + text.upper().replace(" ", "_"), "tls alert " + text)
    if isinstance(error, tls.Error_NotTls):
        return ssl_error("WRONG_VERSION_NUMBER")
    return SSLError(SSL_ERROR_SSL, "[SSL] %s" % error.value)


def _refused(refused, server, is_address):
    name = refused.problem.name
    if name == "OTHER_NAME":
        kind, code = ("IP address", 64) if is_address else ("Hostname", 62)
        words = "%s mismatch, certificate is not valid for '%s'." % (kind, server)
    else:
        code, words = _PROBLEMS.get(name, (1, refused.reason))
    text = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: " + words
    error = SSLCertVerificationError(SSL_ERROR_SSL, text)
    error.library, error.reason = "SSL", "CERTIFICATE_VERIFY_FAILED"
    error.verify_code, error.verify_message = code, words
    return error
