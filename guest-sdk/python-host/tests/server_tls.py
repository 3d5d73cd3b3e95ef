"""A TLS server of this machine for tests, with a certificate for `localhost` and `test.example`."""

import contextlib
import os
import socket
import ssl
import threading

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/tls")
AUTHORITY = os.path.join(FOLDER, "authority.pem")


def context():
    """Returns the server's context."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(os.path.join(FOLDER, "server.pem"), os.path.join(FOLDER, "server.key"))
    made.set_alpn_protocols(["http/1.1"])
    return made


@contextlib.contextmanager
def serving(answer):
    """Serves one connection: `answer` gets the plain socket. Yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            with listener.accept()[0] as connection, contextlib.suppress(OSError):
                answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def secure(answer):
    """Returns a function for `serving` that negotiates TLS first."""
    def over_tls(connection):
        with context().wrap_socket(connection, server_side=True) as wrapped:
            answer(wrapped)

    return over_tls
