"""`_ssl._SSLContext`: what a module wants of its connections. `ssl.SSLContext` is made of it.

The host has TLS 1.2 and 1.3 with ciphers of its own choice. What it cannot do, such as certificates of clients, raises
`Unsupported`; nothing that makes a connection safer is ignored.
"""

from modbox_python import tls_authorities
from modbox_python.host import tls
from modbox_python.tls_connection import Connection
from modbox_python.tls_errors import SSLError, ssl_error
from modbox_python.unsupported import Unsupported, refuse

CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = 0, 1, 2
PROTOCOL_TLS, PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2 = 2, 3, 4, 5
PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 16, 17
PROTO_MINIMUM_SUPPORTED, PROTO_MAXIMUM_SUPPORTED, PROTO_TLSv1_2, PROTO_TLSv1_3 = -2, -1, 771, 772
OP_NO_TLSv1_2, OP_NO_TLSv1_3 = 0x8000000, 0x20000000

# `OP_ALL`, no SSL 3, no compression, and the server's order of ciphers: what CPython begins with.
_OPTIONS = 0x82420050 | 0x80
# `VERIFY_X509_TRUSTED_FIRST`.
_VERIFY_FLAGS = 0x8000
# `VERIFY_CRL_CHECK_CHAIN`, of which `VERIFY_CRL_CHECK_LEAF` is a part.
_CRL_CHECKS = 0xC


def _refusing(name):
    return refuse("ssl.SSLContext." + name)


class Context:
    """What a module wants of its connections."""

    post_handshake_auth, num_tickets, security_level, sni_callback, _msg_callback = False, 2, 1, None, None

    def __new__(cls, protocol=PROTOCOL_TLS):
        known = (PROTOCOL_TLS, PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2, PROTOCOL_TLS_CLIENT,
                 PROTOCOL_TLS_SERVER)
        if protocol not in known:
            raise ValueError("invalid or unsupported protocol version")
        self = super().__new__(cls)
        is_client = protocol == PROTOCOL_TLS_CLIENT
        self._protocol, self._options, self._verify_flags = int(protocol), _OPTIONS, _VERIFY_FLAGS
        self._verify_mode, self._check_hostname = CERT_REQUIRED if is_client else CERT_NONE, is_client
        self._minimum, self._maximum = PROTO_MINIMUM_SUPPORTED, PROTO_MAXIMUM_SUPPORTED
        self._authorities, self._trusts_machine, self._protocols = {}, False, []
        return self

    @property
    def protocol(self):
        """The method that the context was made with."""
        return self._protocol

    @property
    def options(self):
        """The options, of which only those for versions have an effect: the host does as the others say."""
        return self._options

    @options.setter
    def options(self, value):
        self._options = int(value)

    @property
    def verify_flags(self):
        """How certificates are checked."""
        return self._verify_flags

    @verify_flags.setter
    def verify_flags(self, value):
        if value & _CRL_CHECKS:
            raise Unsupported("ssl.VERIFY_CRL_CHECK_LEAF")
        self._verify_flags = int(value)

    @property
    def verify_mode(self):
        """Whether certificates are checked."""
        return self._verify_mode

    @verify_mode.setter
    def verify_mode(self, value):
        if value not in (CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED):
            raise ValueError("invalid value for verify_mode")
        if value == CERT_NONE and self._check_hostname:
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._verify_mode = int(value)

    @property
    def check_hostname(self):
        """Whether a certificate must be for the server's name."""
        return self._check_hostname

    @check_hostname.setter
    def check_hostname(self, value):
        self._check_hostname = bool(value)
        if value and self._verify_mode == CERT_NONE:
            self._verify_mode = CERT_REQUIRED

    @property
    def minimum_version(self):
        """The least version."""
        return self._minimum

    @minimum_version.setter
    def minimum_version(self, value):
        self._minimum = int(value)

    @property
    def maximum_version(self):
        """The greatest version."""
        return self._maximum

    @maximum_version.setter
    def maximum_version(self, value):
        self._maximum = int(value)

    def load_verify_locations(self, cafile=None, capath=None, cadata=None):
        """Adds authorities."""
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        found = tls_authorities.of_data(cadata) if cadata is not None else []
        try:
            found += tls_authorities.of_file(cafile) if cafile is not None else []
            found += tls_authorities.of_folder(capath) if capath is not None else []
        except SSLError:
            raise
        except OSError as error:
            # OpenSSL does not say which file.
            raise type(error)(error.errno, error.strerror) from None
        self._authorities.update(dict.fromkeys(found))
        if sum(map(len, self._authorities)) > tls_authorities.MAX_BYTES:
            raise SSLError(1, "the certificates of authorities have more than %d bytes" % tls_authorities.MAX_BYTES)

    def set_default_verify_paths(self):
        """Adds the authorities that the machine trusts."""
        self._trusts_machine = True

    def get_ca_certs(self, binary_form=False):
        """Returns the authorities that were added."""
        if not binary_form:
            raise Unsupported("ssl.SSLContext.get_ca_certs without binary_form")
        return list(self._authorities)

    def cert_store_stats(self):
        """Returns the number of authorities that were added."""
        count = len(self._authorities)
        return {"x509": count, "crl": 0, "x509_ca": count}

    def trust(self):
        """Returns whom the host is to trust."""
        if self._verify_mode == CERT_NONE:
            return tls.Trust_Anything()
        given = list(self._authorities)
        if not self._trusts_machine:
            return tls.Trust_Authorities(given)
        machine = tls_authorities.of_machine()
        return tls.Trust_Authorities(machine + given) if machine else tls.Trust_Host(given)

    def versions(self):
        """Returns the versions that a server may choose from."""
        most = {PROTO_MAXIMUM_SUPPORTED: PROTO_TLSv1_3}.get(self._maximum, self._maximum)
        if self._protocol in (PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2):
            most = min(most, 766 + self._protocol)
        versions = tls.Versions(0)
        for version, excluded, flag in ((PROTO_TLSv1_2, OP_NO_TLSv1_2, tls.Versions.TLS12),
                                        (PROTO_TLSv1_3, OP_NO_TLSv1_3, tls.Versions.TLS13)):
            if self._minimum <= version <= most and not self._options & excluded:
                versions |= flag
        if not versions:
            raise ssl_error("NO_PROTOCOLS_AVAILABLE")
        return versions

    def protocols(self):
        """Returns the application protocols that a server may choose from."""
        return self._protocols

    def _set_alpn_protocols(self, packed):
        packed, self._protocols = bytes(packed), []
        while packed:
            self._protocols.append(packed[1:1 + packed[0]].decode("ascii"))
            packed = packed[1 + packed[0]:]

    def _wrap_socket(self, sock, server_side, server_hostname=None, *, owner=None, session=None):
        del session  # Sessions are not resumed, which a server may refuse as well.
        if server_side:
            raise Unsupported("ssl.SSLContext.wrap_socket with server_side")
        return Connection(self, sock, server_hostname, owner)

    _wrap_bio = _refusing("wrap_bio")
    load_cert_chain, set_ciphers, get_ciphers = map(_refusing, ("load_cert_chain", "set_ciphers", "get_ciphers"))
    load_dh_params, set_ecdh_curve = map(_refusing, ("load_dh_params", "set_ecdh_curve"))
    set_psk_client_callback, set_psk_server_callback, session_stats = map(
        _refusing, ("set_psk_client_callback", "set_psk_server_callback", "session_stats"))
