"""`modbox:host/tls`, by this machine's `ssl`."""

import collections
import enum
import ssl

from wit_world import Err

Versions = enum.Flag("Versions", "TLS12 TLS13")
CertificateProblem = enum.Enum("CertificateProblem", "UNKNOWN_AUTHORITY EXPIRED NOT_YET_VALID OTHER_NAME REVOKED INVALID",
                               start=0)
Trust_Host = collections.namedtuple("Trust_Host", "value")
Trust_Authorities = collections.namedtuple("Trust_Authorities", "value")
Trust_Anything = collections.namedtuple("Trust_Anything", "")
Settings = collections.namedtuple("Settings", "server trust checks_name address versions protocols")
RefusedCertificate = collections.namedtuple("RefusedCertificate", "problem reason")
Agreement = collections.namedtuple("Agreement", "version cipher protocol certificates")
Error_Denied = collections.namedtuple("Error_Denied", "value")
Error_Invalid = collections.namedtuple("Error_Invalid", "value")
Error_Certificate = collections.namedtuple("Error_Certificate", "value")
Error_Alert = collections.namedtuple("Error_Alert", "value")
Error_NotTls = collections.namedtuple("Error_NotTls", "")
Error_Failed = collections.namedtuple("Error_Failed", "value")

# The settings that were asked for, and an error to give instead of a session.
ASKED, ANSWER = [], []

_PROBLEMS = {10: "EXPIRED", 62: "OTHER_NAME", 64: "OTHER_NAME", 18: "UNKNOWN_AUTHORITY", 19: "UNKNOWN_AUTHORITY",
             20: "UNKNOWN_AUTHORITY"}


class Session:
    """A session, as the host's."""

    def __init__(self, settings):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = settings.checks_name
        if isinstance(settings.trust, Trust_Anything):
            context.verify_mode = ssl.CERT_NONE
        for authority in getattr(settings.trust, "value", []):
            context.load_verify_locations(cadata=authority)
        if settings.protocols:
            context.set_alpn_protocols(settings.protocols)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls, self._done = context.wrap_bio(self._in, self._out, server_hostname=settings.server), False
        self._step()

    @staticmethod
    def begin(settings):
        """Begins a session."""
        ASKED.append(settings)
        if ANSWER:
            raise Err(ANSWER.pop())
        return Session(settings)

    def _step(self):
        if not self._done:
            try:
                self._tls.do_handshake()
                self._done = True
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError as error:
                problem = CertificateProblem[_PROBLEMS[error.verify_code]]
                raise Err(Error_Certificate(RefusedCertificate(problem, error.verify_message))) from None
            except ssl.SSLError as error:
                raise Err(Error_NotTls() if "WRONG_VERSION" in error.reason else Error_Failed(str(error))) from None

    def outgoing(self):
        """Returns bytes to send."""
        return self._out.read(1 << 16)

    def incoming(self, data):
        """Takes some of the bytes, to show that a caller keeps the rest."""
        taken = self._in.write(data[:1000])
        self._step()
        return taken

    def is_handshaking(self):
        """Returns whether the handshake goes on."""
        return not self._done

    def read(self, most):
        """Returns data."""
        try:
            return self._tls.read(most)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as error:
            raise Err(Error_Failed(str(error))) from None

    def write(self, data):
        """Takes some of the data."""
        return self._tls.write(data[:1000])

    def close(self):
        """Ends the data."""
        try:
            self._tls.unwrap()
        except ssl.SSLError:
            pass

    def agreement(self):
        """Returns what was agreed."""
        protocol = self._tls.selected_alpn_protocol()
        return Agreement(Versions.TLS13, self._tls.cipher()[0], protocol and protocol.encode(),
                         [self._tls.getpeercert(True)]) if self._done else None
