"""Certificates of authorities: taken from files and texts, for the host to check servers with.

Files are read in the sandbox, so that a module names only those that it may read. Which file has the authorities that
this machine trusts, the host says in the facts of the run. Without such a file, the host has a list of its own.
"""

import binascii
import os
import re

from modbox_python import paths
from modbox_python.tls_errors import SSLError, ssl_error

# Most bytes of certificates that the host takes.
MAX_BYTES = 1 << 20

# Names that OpenSSL looks for in a folder of authorities.
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")

_PEM = re.compile(rb"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----(.+?)-----END (?:TRUSTED |X509 )?CERTIFICATE-----",
                  re.DOTALL)

# The file with the authorities of the machine, and the certificates in it once they were read.
_machine_file = None
_machine = None


def renew(facts):
    """Takes the place of this run's file."""
    global _machine_file, _machine
    _machine_file, _machine = facts.get("authorities"), None
    # Ansible looks for authorities in folders of several systems.
    for folder in facts.get("absent", ()):
        paths.hide([folder], folder)


def machine_file():
    """Returns the path of the file with the machine's authorities, or `None`."""
    return os.environ.get("SSL_CERT_FILE") or _machine_file


def of_machine():
    """Returns the certificates of the machine's authorities. Without a readable file, the list is empty."""
    global _machine
    if _machine is None:
        _machine = _if_readable(of_file, machine_file()) + _if_readable(of_folder, os.environ.get("SSL_CERT_DIR"))
    return _machine


def _if_readable(read, path):
    try:
        return read(path) if path else []
    except (OSError, ValueError):
        return []


def of_file(path):
    """Returns the certificates in a file in PEM."""
    with open(path, "rb") as file:
        found = of_pem(file.read(4 * MAX_BYTES))
    if not found:
        raise ssl_error("NO_CERTIFICATE_OR_CRL_FOUND", library="X509")
    return found


def of_folder(path):
    """Returns the certificates in a folder whose files are named as OpenSSL wants it."""
    found = []
    for name in sorted(os.listdir(path)):
        if _HASHED.fullmatch(name):
            try:
                found += of_file(os.path.join(path, name))
            except (OSError, ValueError):
                # OpenSSL, too, takes what it can read.
                continue
    return found


def of_data(data):
    """Returns the certificates of a text in PEM, or of bytes in DER, one after the other."""
    if isinstance(data, str):
        found = of_pem(data.encode("ascii"))
        if not found:
            raise ssl_error("NO_START_LINE", library="PEM")
        return found
    data, found = bytes(data), []
    while data:
        length = _length(data)
        if length is None or length > len(data):
            raise SSLError(1, "not enough data: cadata does not contain a certificate")
        found.append(data[:length])
        data = data[length:]
    if not found:
        raise ValueError("Empty certificate data")
    return found


def of_pem(text):
    """Returns the certificates in a text in PEM."""
    return [binascii.a2b_base64(body) for body in _PEM.findall(text)]


def _length(data):
    """Returns the length of the sequence in DER that bytes begin with, or `None`."""
    if len(data) < 2 or data[0] != 0x30:
        return None
    if data[1] < 0x80:
        return 2 + data[1]
    count = data[1] & 0x7F
    if not 1 <= count <= 4 or len(data) < 2 + count:
        return None
    return 2 + count + int.from_bytes(data[2:2 + count], "big")
