"""The servers of this machine that `uri` and `get_url` talk to, with and without TLS, and what stands for them in cases.

`$HTTP` and `$HTTPS` are servers of `../web_server.py`; `$JUNK` is a port where something else than HTTP answers. `$CA` is
the authority of `$HTTPS`, whose certificate is for `localhost`. `REACH` are switches that let a run reach all of them;
natively, rules cannot tell hosts apart.
"""

import os
import socket
import ssl
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TLS = os.path.join(HERE, "../../tls")
sys.path.insert(0, os.path.dirname(HERE))

import web_server  # noqa: E402

REACH, UNVERIFIED = ["--allow-net", "$REACH"], ["--allow-net", "$REACH+unverified"]


class Handler(web_server.Handler):
    """Answers further paths."""

    def at_flood(self, rest, query, body):
        """Sends more fields than a client takes."""
        self.answer(200, b"", X_Many=["v"] * 200)

    def at_longline(self, rest, query, body):
        """Sends a longer field than a client takes."""
        self.answer(200, b"", X_Long="v" * 70000)

    def at_reason(self, rest, query, body):
        """Answers with words of its own for the status."""
        self.send_response(299, "As It Were")
        self.send_header("Content-Length", "0")
        self.end_headers()


class Server(web_server.Server):
    """A server with TLS."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(TLS + "/server.pem", TLS + "/server.key")

    def finish_request(self, request, client_address):
        """Negotiates in the thread of the request, so that one client does not stop the others."""
        request.settimeout(30)
        with self.tls.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)
            try:
                wrapped.unwrap()
            except OSError:
                pass


def _junk():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            with listener.accept()[0] as connection:
                connection.settimeout(5)
                try:
                    connection.recv(1000)
                    connection.sendall(b"\x00\x01 this is not HTTP\r\n\r\n" * 100)
                except OSError:
                    pass

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def start(work):
    """Starts the servers, and returns what stands for what in cases."""
    plain, secure, junk = web_server.Server(("127.0.0.1", 0), Handler), Server(), _junk()
    for server in (plain, secure):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    # Runs see the authority at a path that they may read.
    authority = os.path.join(work, "authority.pem")
    with open(os.path.join(TLS, "authority.pem"), "rb") as file, open(authority, "wb") as copy:
        copy.write(file.read())
    return {"$HTTPS": "https://localhost:%d" % secure.server_port, "$SECURE": str(secure.server_port),
            "$HTTP": "http://127.0.0.1:%d" % plain.server_port, "$JUNK": str(junk), "$CA": authority,
            "$REACH": "*+any"}
