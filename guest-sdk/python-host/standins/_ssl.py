"""`_ssl` for the sandbox: what CPython's own `ssl` is made of. TLS is the host's, by `modbox:host/tls`.

The numbers are those of OpenSSL 3 on Linux.
"""

import os

from modbox_python import tls_authorities
from modbox_python.tls_connection import Connection as _SSLSocket
from modbox_python.tls_context import (  # noqa: F401
    CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED, OP_NO_TLSv1_2, OP_NO_TLSv1_3, PROTO_MAXIMUM_SUPPORTED,
    PROTO_MINIMUM_SUPPORTED, PROTO_TLSv1_2, PROTO_TLSv1_3, PROTOCOL_TLS, PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER,
    PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2, Context as _SSLContext)
from modbox_python.tls_errors import (  # noqa: F401
    SSL_ERROR_EOF, SSL_ERROR_SSL, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_ZERO_RETURN,
    SSLCertVerificationError, SSLEOFError, SSLError, SSLSyscallError, SSLWantReadError, SSLWantWriteError,
    SSLZeroReturnError)
from modbox_python.unsupported import Unsupported

OPENSSL_VERSION = "rustls of modbox, in place of OpenSSL 3.0.0"
OPENSSL_VERSION_INFO = _OPENSSL_API_VERSION = (3, 0, 0, 0, 0)
OPENSSL_VERSION_NUMBER = 0x30000000
_DEFAULT_CIPHERS = "@SECLEVEL=2"

PROTOCOL_SSLv23 = PROTOCOL_TLS
PROTO_SSLv3, PROTO_TLSv1, PROTO_TLSv1_1 = 768, 769, 770
SSL_ERROR_WANT_X509_LOOKUP, SSL_ERROR_SYSCALL, SSL_ERROR_WANT_CONNECT, SSL_ERROR_INVALID_ERROR_CODE = 4, 5, 7, 10
ENCODING_PEM, ENCODING_DER = 1, 2

HAS_SNI = HAS_ECDH = HAS_ALPN = HAS_TLSv1_2 = HAS_TLSv1_3 = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = HAS_TLS_UNIQUE = HAS_PSK = HAS_PSK_TLS13 = HAS_PHA = False

OP_ALL, OP_NO_SSLv2, OP_NO_SSLv3, OP_NO_TLSv1, OP_NO_TLSv1_1 = 0x80000050, 0, 0x2000000, 0x4000000, 0x10000000
OP_CIPHER_SERVER_PREFERENCE, OP_SINGLE_DH_USE, OP_SINGLE_ECDH_USE, OP_NO_TICKET = 0x400000, 0, 0, 0x4000
OP_NO_COMPRESSION, OP_NO_RENEGOTIATION, OP_ENABLE_MIDDLEBOX_COMPAT = 0x20000, 0x40000000, 0x100000
OP_IGNORE_UNEXPECTED_EOF, OP_ENABLE_KTLS, OP_LEGACY_SERVER_CONNECT = 0x80, 8, 4

VERIFY_DEFAULT, VERIFY_CRL_CHECK_LEAF, VERIFY_CRL_CHECK_CHAIN, VERIFY_ALLOW_PROXY_CERTS = 0, 4, 12, 64
VERIFY_X509_STRICT, VERIFY_X509_TRUSTED_FIRST, VERIFY_X509_PARTIAL_CHAIN = 32, 32768, 524288

ALERT_DESCRIPTION_CLOSE_NOTIFY, ALERT_DESCRIPTION_UNEXPECTED_MESSAGE, ALERT_DESCRIPTION_BAD_RECORD_MAC = 0, 10, 20
ALERT_DESCRIPTION_RECORD_OVERFLOW, ALERT_DESCRIPTION_DECOMPRESSION_FAILURE = 22, 30
ALERT_DESCRIPTION_HANDSHAKE_FAILURE, ALERT_DESCRIPTION_BAD_CERTIFICATE = 40, 42
ALERT_DESCRIPTION_UNSUPPORTED_CERTIFICATE, ALERT_DESCRIPTION_CERTIFICATE_REVOKED = 43, 44
ALERT_DESCRIPTION_CERTIFICATE_EXPIRED, ALERT_DESCRIPTION_CERTIFICATE_UNKNOWN = 45, 46
ALERT_DESCRIPTION_ILLEGAL_PARAMETER, ALERT_DESCRIPTION_UNKNOWN_CA, ALERT_DESCRIPTION_ACCESS_DENIED = 47, 48, 49
ALERT_DESCRIPTION_DECODE_ERROR, ALERT_DESCRIPTION_DECRYPT_ERROR, ALERT_DESCRIPTION_PROTOCOL_VERSION = 50, 51, 70
ALERT_DESCRIPTION_INSUFFICIENT_SECURITY, ALERT_DESCRIPTION_INTERNAL_ERROR = 71, 80
ALERT_DESCRIPTION_USER_CANCELLED, ALERT_DESCRIPTION_NO_RENEGOTIATION = 90, 100
ALERT_DESCRIPTION_UNSUPPORTED_EXTENSION, ALERT_DESCRIPTION_CERTIFICATE_UNOBTAINABLE = 110, 111
ALERT_DESCRIPTION_UNRECOGNIZED_NAME, ALERT_DESCRIPTION_BAD_CERTIFICATE_STATUS_RESPONSE = 112, 113
ALERT_DESCRIPTION_BAD_CERTIFICATE_HASH_VALUE, ALERT_DESCRIPTION_UNKNOWN_PSK_IDENTITY = 114, 115

# The two purposes of certificates that `ssl` names.
_OBJECTS = (
    (129, "serverAuth", "TLS Web Server Authentication", "1.3.6.1.5.5.7.3.1"),
    (130, "clientAuth", "TLS Web Client Authentication", "1.3.6.1.5.5.7.3.2"),
)


class MemoryBIO:
    """A buffer for TLS without a socket."""

    def __init__(self):
        raise Unsupported("ssl.MemoryBIO")


class SSLSession:
    """A session to resume; there is none."""


class Certificate:
    """A certificate; there is none outside of `getpeercert`."""


def txt2obj(txt, name=False):
    """Returns the number and the names of an object."""
    for known in _OBJECTS:
        if txt in (known if name else known[3:]):
            return known
    raise ValueError("unknown object '%s'" % txt[:100])


def nid2obj(nid):
    """Returns the number and the names of the object of a number."""
    for known in _OBJECTS:
        if nid == known[0]:
            return known
    raise ValueError("unknown NID %d" % nid)


def get_default_verify_paths():
    """Returns where the machine's authorities are, with the variables that say otherwise."""
    return "SSL_CERT_FILE", tls_authorities.machine_file() or "", "SSL_CERT_DIR", ""


def RAND_status():
    """Returns that there are random numbers."""
    return True


def RAND_add(string, entropy):
    """Does nothing: the host's random numbers need no more."""
    del string, entropy


def RAND_bytes(n):
    """Returns random bytes."""
    return os.urandom(n)


def RAND_pseudo_bytes(n):
    """Returns random bytes. Python 3.12 and newer do not have this function."""
    return os.urandom(n), True
