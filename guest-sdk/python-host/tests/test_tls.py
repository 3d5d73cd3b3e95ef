"""`_ssl` of the sandbox under this Python's own `ssl.py`, against a real server."""

import importlib.util
import os
import socket
import ssl
import sys
import time
import unittest
from unittest import mock

from wit_world.imports import tls

from modbox_python import tls_authorities, tls_errors, unsupported
from tests import server_tls
from tests.test_standins import stand_in


def ours():
    """Returns `ssl` made of the stand-in."""
    before = sys.modules["_ssl"]
    sys.modules["_ssl"] = stand_in("_ssl")
    try:
        spec = importlib.util.spec_from_file_location("our_ssl", ssl.__file__)
        module = importlib.util.module_from_spec(spec)
        # `ssl` makes enumerations by the name of its module.
        sys.modules["our_ssl"] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.modules["_ssl"] = before


OURS = ours()
DATA = bytes(range(256)) * 1000


def echo(connection):
    """Sends back what comes, until its end."""
    while data := connection.recv(5000):
        connection.sendall(data)


def trusting(**options):
    """Returns a context that trusts the test's authority."""
    return OURS.create_default_context(cafile=server_tls.AUTHORITY, **options)


class Names(unittest.TestCase):
    def test_numbers_are_those_of_openssl(self):
        import _ssl
        for name, value in vars(stand_in("_ssl")).items():
            if name.startswith(("OP_", "VERIFY_", "CERT_", "PROTO", "SSL_ERROR_", "ALERT_", "ENCODING_")):
                self.assertEqual(value, getattr(_ssl, name, value), name)

    def test_ssl_has_all_of_its_names(self):
        for name in dir(ssl):
            if not name.startswith("_") and name != "RAND_egd":
                self.assertTrue(hasattr(OURS, name), name)
        for name in dir(ssl.SSLContext):
            if name not in ("keylog_filename", "_host_flags", "_set_npn_protocols") and not name.startswith("__"):
                self.assertTrue(hasattr(OURS.SSLContext, name), name)


class Connections(unittest.TestCase):
    def setUp(self):
        del tls.ASKED[:], tls.ANSWER[:]

    def connect(self, port, context, name="localhost", timeout=5):
        """Returns a connection."""
        plain = socket.create_connection(("127.0.0.1", port), timeout)
        try:
            made = context.wrap_socket(plain, server_hostname=name)
        except BaseException:
            plain.close()
            raise
        self.addCleanup(made.close)
        return made

    def error(self, answer, context, kind, **options):
        """Returns the error of a connection."""
        with server_tls.serving(answer) as port, self.assertRaises(kind) as raised:
            self.connect(port, context, **options).recv(10)
        return raised.exception

    def test_data_passes_in_both_directions(self):
        context = trusting()
        context.set_alpn_protocols(["http/1.1"])
        with server_tls.serving(server_tls.secure(echo)) as port:
            made = self.connect(port, context)
            self.assertEqual((made.version(), made.selected_alpn_protocol()), ("TLSv1.3", "http/1.1"))
            with open(os.path.join(server_tls.FOLDER, "server.pem"), encoding="ascii") as file:
                self.assertEqual(made.getpeercert(True), ssl.PEM_cert_to_DER_cert(file.read()))
            got = b""
            for at in range(0, len(DATA), 10000):
                made.sendall(DATA[at:at + 10000])
                while len(got) < min(at + 10000, len(DATA)):
                    got += made.recv(3000)
            self.assertEqual(got, DATA)
            made.sendall(b"12345")
            self.assertEqual((made.recv(2), made.pending()), (b"12", 3))
            self.assertEqual(made.makefile("rb").read(3), b"345")
            made.shutdown(socket.SHUT_WR)
        asked = tls.ASKED[0]
        self.assertEqual((asked.server, asked.checks_name, asked.address), ("localhost", True, ("127.0.0.1", port)))

    def test_the_end_of_data_is_told_from_a_broken_connection(self):
        def bye(connection):
            connection.sendall(b"bye")
            connection.unwrap()

        def broken(connection):
            wrapped = server_tls.context().wrap_socket(connection, server_side=True)
            wrapped.sendall(b"bye")
            socket.socket(fileno=wrapped.detach()).close()

        for answer, ragged in ((server_tls.secure(bye), False), (broken, True)):
            with server_tls.serving(answer) as port:
                made = self.connect(port, trusting())
                made.suppress_ragged_eofs = False
                self.assertEqual(made.recv(10), b"bye")
                if ragged:
                    self.assertRaises(OURS.SSLEOFError, made.recv, 10)
                    made.suppress_ragged_eofs = True
                self.assertEqual(made.recv(10), b"")

    def test_a_refused_certificate_is_told_in_the_words_of_openssl(self):
        for context, name, words in (
                (trusting(), "other.example", "Hostname mismatch, certificate is not valid for 'other.example'."),
                (trusting(), "127.0.0.1", "IP address mismatch, certificate is not valid for '127.0.0.1'."),
                (OURS.create_default_context(), "localhost", "unable to get local issuer certificate")):
            error = self.error(server_tls.secure(echo), context, OURS.SSLCertVerificationError, name=name)
            self.assertEqual(str(error), "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: " + words)
            self.assertEqual((error.reason, error.verify_message), ("CERTIFICATE_VERIFY_FAILED", words))
            self.assertIsInstance(error, (OSError, ValueError))

    def test_any_certificate_is_asked_of_the_host(self):
        context = OURS.create_default_context()
        with self.assertRaises(ValueError):
            context.verify_mode = OURS.CERT_NONE
        context.check_hostname = False
        context.verify_mode = OURS.CERT_NONE
        with server_tls.serving(server_tls.secure(echo)) as port:
            self.assertEqual(self.connect(port, context).getpeercert(), {})
        self.assertEqual((tls.ASKED[-1].trust, tls.ASKED[-1].checks_name), (tls.Trust_Anything(), False))
        tls.ANSWER.append(tls.Error_Denied("--allow-net 127.0.0.1:1+unverified"))
        error = self.error(echo, context, OURS.SSLError)
        self.assertIn("`--allow-net 127.0.0.1:1+unverified` allows any certificate", str(error))
        context = trusting()
        context.check_hostname = False
        with server_tls.serving(server_tls.secure(echo)) as port:
            self.connect(port, context, name="other.example")
        self.assertFalse(tls.ASKED[-1].checks_name)

    def test_garbage_and_silence_are_errors(self):
        def garbage(connection):
            connection.recv(10)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        def silent(connection):
            while connection.recv(1 << 16):
                pass

        def drip(connection):
            for byte in b"\x16\x03\x03\x40\x00" + bytes(100):
                connection.sendall(bytes([byte]))
                time.sleep(0.05)

        self.assertIn("wrong version number", str(self.error(garbage, trusting(), OURS.SSLError)))
        self.assertEqual(self.error(lambda _: None, trusting(), (OURS.SSLEOFError, ConnectionResetError)).errno in
                         (8, 104), True)
        for answer in (silent, drip):
            begun = time.monotonic()
            error = self.error(answer, trusting(), TimeoutError, timeout=0.3)
            self.assertEqual(str(error), "The handshake operation timed out")
            self.assertLess(time.monotonic() - begun, 8)
        error = self.error(server_tls.secure(silent), trusting(), TimeoutError, timeout=0.5)
        self.assertEqual(str(error), "The read operation timed out")

    def test_errors_of_the_host_are_told(self):
        for error, words in ((tls.Error_Alert(40), "[SSL: TLS_ALERT_HANDSHAKE_FAILURE] tls alert handshake failure"),
                             (tls.Error_Alert(254), "[SSL: TLS_ALERT_ALERT_NUMBER_254] tls alert alert number 254"),
                             (tls.Error_Failed("why"), "[SSL] why"), (tls.Error_Invalid("why"), "[SSL] why")):
            self.assertEqual(str(tls_errors.from_host(error, "a", False)), words)


class Contexts(unittest.TestCase):
    def test_what_the_host_cannot_do_is_an_error(self):
        context = OURS.create_default_context()
        for call, name in ((lambda: context.load_cert_chain("a"), "ssl.SSLContext.load_cert_chain"),
                           (lambda: context.set_ciphers("a"), "ssl.SSLContext.set_ciphers"),
                           (lambda: setattr(context, "verify_flags", OURS.VERIFY_CRL_CHECK_LEAF),
                            "ssl.VERIFY_CRL_CHECK_LEAF"),
                           (lambda: OURS.MemoryBIO(), "ssl.MemoryBIO")):
            with self.assertRaises(unsupported.Unsupported) as raised:
                call()
            self.assertIn("needs %s, which" % name, str(raised.exception))
        for options in (OURS.OP_NO_TLSv1_3 | OURS.OP_NO_TLSv1_2, ):
            context.options |= options
            self.assertRaises(OURS.SSLError, context.versions)

    def test_versions_are_those_between_the_limits(self):
        for least, most, expect in ((None, None, 3), (OURS.TLSVersion.TLSv1_3, None, 2), (None, OURS.TLSVersion.TLSv1_2, 1),
                                    (OURS.TLSVersion.TLSv1, OURS.TLSVersion.TLSv1_3, 3)):
            context = OURS.create_default_context()
            if least:
                context.minimum_version = least
            if most:
                context.maximum_version = most
            self.assertEqual(context.versions().value, expect)

    def test_authorities_are_read_from_files_texts_and_bytes(self):
        with open(server_tls.AUTHORITY, encoding="ascii") as file:
            text = file.read()
        der = ssl.PEM_cert_to_DER_cert(text)
        for data in (text, text * 2, der, bytearray(der + der)):
            context = OURS.SSLContext(OURS.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=data)
            self.assertEqual(context.get_ca_certs(True), [der])
            self.assertEqual(context.trust(), tls.Trust_Authorities([der]))
        for data, kind in ((b"junk", OURS.SSLError), (der[:-1], OURS.SSLError), ("junk", OURS.SSLError), (b"", ValueError),
                           (b"\x30\x84\xff\xff\xff\xff", OURS.SSLError)):
            self.assertRaises(kind, OURS.SSLContext(OURS.PROTOCOL_TLS_CLIENT).load_verify_locations, cadata=data)
        self.assertRaises(FileNotFoundError, context.load_verify_locations, "/none")
        self.assertRaises(OURS.SSLError, context.load_verify_locations, __file__)
        self.assertRaises(TypeError, context.load_verify_locations)

    def test_the_machine_is_trusted_by_its_file_or_by_the_hosts_list(self):
        self.addCleanup(tls_authorities.renew, {})
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            os.environ.pop(name, None)
        context = OURS.create_default_context()
        for facts, kind in (({}, tls.Trust_Host), ({"authorities": "/none"}, tls.Trust_Host),
                            ({"authorities": server_tls.AUTHORITY}, tls.Trust_Authorities)):
            tls_authorities.renew(facts)
            self.assertIs(type(context.trust()), kind)
        self.assertEqual(OURS.get_default_verify_paths().cafile, server_tls.AUTHORITY)
        self.assertIsNone(OURS.get_default_verify_paths().capath)
