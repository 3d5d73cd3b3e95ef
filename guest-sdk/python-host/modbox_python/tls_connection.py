"""`_ssl._SSLSocket`: TLS on a socket. `ssl.SSLSocket` has one.

The host encrypts, and this class carries the bytes between the host's session and the socket. So a connection is under
the rules for sockets, and under their timeouts.
"""

import ipaddress
import socket
import time
import weakref

from modbox_python import tls_errors
from modbox_python.host import Err, tls
from modbox_python.unsupported import Unsupported, refuse

# Bytes that are received at once; a record has at most these.
_CHUNK = 16 << 10

# Bytes of data that the host takes or returns at once.
_PIECE = 64 << 10


class _Patience:
    """The time that an operation may take, by the socket's timeout. A server that sends byte by byte gets no more."""

    def __init__(self, sock, name):
        self._sock, self._name, self._timeout = sock, name, sock.gettimeout()
        self._end = time.monotonic() + self._timeout if self._timeout else None

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        if self._end is not None and self._sock.fileno() >= 0:
            self._sock.settimeout(self._timeout)

    def call(self, function, argument, waits):
        """Calls a socket function with the remaining time as its timeout. Raises `waits` if the call would block."""
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                raise self._over()
            self._sock.settimeout(left)
        try:
            # `SSLSocket` has functions of the same name that encrypt.
            return function(self._sock, argument)
        except socket.timeout:
            raise self._over() from None
        except BlockingIOError:
            raise waits from None

    def _over(self):
        return TimeoutError("The %s operation timed out" % self._name)


class Connection:
    """TLS on a socket."""

    server_side, session, session_reused = False, None, False

    def __init__(self, context, sock, server_hostname, owner):
        self.context, self.server_hostname, self.owner = context, server_hostname, owner
        # The socket has this object.
        self._socket = weakref.ref(sock)
        self._session = self._failure = None
        self._received = self._unsent = self._read = b""

    def do_handshake(self):
        """Agrees with the server."""
        with self._patience("handshake") as patience:
            if self._session is None:
                self._session = self._begin()
            while True:
                self._send(patience)
                if self._failure is not None:
                    raise self._failure
                if not self._session.is_handshaking():
                    return
                self._receive(patience)

    def read(self, length, buffer=None):
        """Returns data, at most `length` bytes, or puts it into a buffer and returns its length."""
        data = self._data(length if buffer is None or length > 0 else len(buffer))
        if buffer is None:
            return data
        buffer[:len(data)] = data
        return len(data)

    def write(self, data):
        """Sends data, and returns how many bytes of it."""
        data = memoryview(data).cast("B")
        with self._patience("write") as patience:
            self._send(patience)
            taken = 0
            while data and not taken:
                taken = self._of_host(self._session.write, bytes(data[:_PIECE]))
                self._send(patience)
            return taken

    def pending(self):
        """Returns the number of bytes that can be read without waiting."""
        if not self._read and self._session is not None and self._failure is None:
            self._read = self._of_host(self._session.read, _PIECE) or b""
        return len(self._read)

    def shutdown(self):
        """Ends TLS on both sides, and returns the socket."""
        sock = self._sock()
        with self._patience("shutdown") as patience:
            self._session.close()
            self._send(patience)
        while self._data(_PIECE):
            pass
        return sock

    def getpeercert(self, binary_form=False):
        """Returns the server's certificate in DER."""
        if self._session is None or self._session.is_handshaking():
            raise ValueError("handshake not done yet")
        certificates = self._session.agreement().certificates
        if binary_form:
            return certificates[0] if certificates else None
        if self.context.verify_mode == 0:
            return {}
        raise Unsupported("ssl.SSLSocket.getpeercert without binary_form")

    def version(self):
        """Returns the version's name."""
        agreement = self._agreement()
        return agreement and ("TLSv1.2" if agreement.version == tls.Versions.TLS12 else "TLSv1.3")

    def cipher(self):
        """Returns the cipher's name, its version and its bits."""
        agreement = self._agreement()
        return agreement and (agreement.cipher, self.version(), 128 if "128" in agreement.cipher else 256)

    def selected_alpn_protocol(self):
        """Returns the application protocol."""
        agreement = self._agreement()
        return agreement.protocol.decode("ascii", "replace") if agreement and agreement.protocol is not None else None

    def shared_ciphers(self):
        """Returns nothing, as for every client."""

    def compression(self):
        """Returns that nothing is compressed."""

    get_channel_binding = refuse("ssl.SSLSocket.get_channel_binding")
    verify_client_post_handshake = refuse("ssl.SSLSocket.verify_client_post_handshake")
    get_verified_chain = refuse("ssl.SSLSocket.get_verified_chain")
    get_unverified_chain = refuse("ssl.SSLSocket.get_unverified_chain")

    def _agreement(self):
        return None if self._session is None else self._session.agreement()

    def _sock(self):
        sock = self._socket()
        if sock is None:
            raise tls_errors.SSLError(tls_errors.SSL_ERROR_SSL, "Underlying socket connection gone")
        return sock

    def _patience(self, name):
        return _Patience(self._sock(), name)

    def _server(self):
        return self.server_hostname or self._sock().getpeername()[0]

    def _begin(self):
        """Begins the host's session."""
        context, peer = self.context, self._sock().getpeername()
        checks_name = context.check_hostname and context.verify_mode != 0
        settings = tls.Settings(self._server(), context.trust(), checks_name, (peer[0], peer[1]), context.versions(),
                                list(context.protocols()))
        return self._of_host(tls.Session.begin, settings)

    def _of_host(self, function, *arguments):
        """Calls a function of the host, and raises its error in the form of `ssl`."""
        try:
            return function(*arguments)
        except Err as error:
            raise self._error(error.value) from None

    def _error(self, error):
        server = self._server()
        try:
            ipaddress.ip_address(server)
            return tls_errors.from_host(error, server, True)
        except ValueError:
            return tls_errors.from_host(error, server, False)

    def _data(self, length):
        """Returns data, at most `length` bytes, and none at its end."""
        if length <= 0:
            return b""
        if self._read:
            data, self._read = self._read[:length], self._read[length:]
            return data
        with self._patience("read") as patience:
            while True:
                data = self._of_host(self._session.read, min(length, _PIECE))
                if data is not None:
                    return data
                if self._failure is not None:
                    # Data that came before it has been returned.
                    raise self._failure
                self._receive(patience)
                self._send(patience)

    def _receive(self, patience):
        """Takes bytes from the server to the session. A failure is kept until the data before it has been read."""
        if not self._received:
            waits = tls_errors.SSLWantReadError(tls_errors.SSL_ERROR_WANT_READ, "The operation did not complete (read)")
            self._received = patience.call(socket.socket.recv, _CHUNK, waits)
            if not self._received:
                raise tls_errors.ended()
        try:
            taken = self._session.incoming(self._received)
            self._received = self._received[taken:]
        except Err as error:
            self._failure = self._error(error.value)

    def _send(self, patience):
        """Takes bytes from the session to the server. After a failure, it may be gone."""
        waits = tls_errors.SSLWantWriteError(tls_errors.SSL_ERROR_WANT_WRITE, "The operation did not complete (write)")
        try:
            while True:
                self._unsent = self._unsent or self._session.outgoing()
                if not self._unsent:
                    return
                self._unsent = self._unsent[patience.call(socket.socket.send, self._unsent, waits):]
        except OSError:
            if self._failure is None:
                raise
