"""Servers for the scenarios of `uri` and `get_url`: one and, on another port, another, which is another origin."""

import functools
import gzip
import http.server
import json
import re
import threading
import time
import urllib.parse

# Fields in which two clients may differ.
OF_CLIENTS = {"connection", "accept"}
LAST_MODIFIED = "Wed, 01 Nov 2023 00:00:00 GMT"  # before the files of the scenarios
LATER = "Mon, 01 Jan 2024 00:00:00 GMT"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="text/plain", **fields):
        self.send_response(status)
        self.send_header("Connection", "close")
        if kind:
            self.send_header("Content-Type", kind)
        for name, values in fields.items():
            for value in values if isinstance(values, list) else [values]:
                self.send_header(name.replace("_", "-"), value)
        if "content_length" not in fields and status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return b"<chunked>"
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def handle_any(self):
        path, _, query = self.path.partition("?")
        name, _, rest = path.strip("/").partition("/")
        body = self.body()
        getattr(self, f"at_{name}", self.at_nothing)(rest, urllib.parse.parse_qs(query), body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_REPORT = handle_any

    def at_nothing(self, rest, query, body):
        self.answer(404, b"there is no such thing\n")

    def at_echo(self, rest, query, body):
        fields = {name.lower(): value for name, value in sorted(self.headers.items(), key=lambda field: field[0].lower())}
        fields = {name: value for name, value in fields.items() if name not in OF_CLIENTS}
        if "if-modified-since" in fields:
            fields["if-modified-since"] = "some time"
        kind = fields.get("content-type", "")
        if "boundary" in kind:
            boundary = re.search('boundary="(.*?)"', kind)[1]
            body = body.replace(boundary.encode(), b"BOUNDARY")
            fields["content-type"] = kind.replace(boundary, "BOUNDARY")
        seen = {"method": self.command, "path": self.path, "fields": fields, "body": body.decode("latin-1")}
        self.answer(200, json.dumps(seen).encode(), "application/json")

    def at_text(self, rest, query, body):
        self.answer(200, b"hello\n", X_Custom="a value")

    def at_big(self, rest, query, body):
        self.answer(200, b"0123456789abcdef" * 20_000, "application/octet-stream")

    def at_data(self, rest, query, body):
        kinds = {"suffix": "application/problem+json", "script": "text/javascript", "upper": "Application/JSON; charset=UTF-8"}
        self.answer(200, b'{"a": [1, "\xc3\xbc", null]}', kinds.get(rest, "application/json"))

    def at_wrong(self, rest, query, body):
        self.answer(200, b'{"a": ', "application/json")

    def at_latin(self, rest, query, body):
        self.answer(200, b"gr\xfc\xdfe\n", "text/plain; charset=iso-8859-1")

    def at_bytes(self, rest, query, body):
        self.answer(200, b"\x00\xff\xfe")

    def at_untyped(self, rest, query, body):
        self.answer(200, b"untyped", None)

    def at_status(self, rest, query, body):
        kind = "application/json" if "json" in query else "text/plain"
        self.answer(int(rest), b"" if rest in ("204", "304") else b'{"why": "asked for"}', kind, X_Custom="a value")

    def at_redirect(self, rest, query, body):
        self.answer(int(rest), b"elsewhere", Location=query["to"][0])

    def at_nowhere(self, rest, query, body):
        self.answer(302, b"nowhere")

    def at_loop(self, rest, query, body):
        self.answer(302, b"", Location=f"/loop/{int(rest or 0) + ('count' in query)}{'?count' if 'count' in query else ''}")

    def at_cookies(self, rest, query, body):
        cookies = ["a=1; Path=/", "b=two words; Path=/echo", "c=3; Max-Age=0", "d=4; HttpOnly", "a=5; Path=/"]
        where = {"Location": "/echo/cookies"} if rest == "redirect" else {}
        self.answer(302 if where else 200, b"cookies", Set_Cookie=cookies, **where)

    def at_auth(self, rest, query, body):
        if self.headers.get("Authorization") == "Basic dXNlcjpwYTpzcw==":  # user:pa:ss
            return self.at_echo(rest, query, body)
        self.answer(401, b"who are you?", WWW_Authenticate='Basic realm="here"')

    def at_gzip(self, rest, query, body):
        self.answer(200, gzip.compress(b"packed\n" * 100, mtime=0), Content_Encoding="gzip")

    def at_chunked(self, rest, query, body):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"4\r\nfour\r\n5\r\n five\r\n0\r\n\r\n")
        self.close_connection = True

    def at_short(self, rest, query, body):
        self.answer(200, b"abc", content_length="10")

    def at_gone(self, rest, query, body):
        self.close_connection = True

    def at_slow(self, rest, query, body):
        time.sleep(3)
        self.close_connection = True

    def at_doubled(self, rest, query, body):
        self.answer(200, b"doubled", X_Many=["one", "two"], X_Many_Words="1")

    def at_named(self, rest, query, body):
        self.answer(200, b"named\n", Content_Disposition=query["as"][0])

    def at_dated(self, rest, query, body):
        modified = LATER if rest == "later" else LAST_MODIFIED
        since = self.headers.get("If-Modified-Since")
        if since and time.strptime(since, "%a, %d %b %Y %H:%M:%S GMT") >= time.strptime(modified, "%a, %d %b %Y %H:%M:%S GMT"):
            return self.answer(304, b"", None)
        self.answer(200, b"dated\n", Last_Modified=modified, X_Seen_Since=str(since), X_Cache=str(self.headers.get("Cache-Control")))

    def at_sums(self, rest, query, body):
        self.answer(200, query["text"][0].encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that goes before it was answered


@functools.cache
def servers():
    """Returns the addresses of the two, which are started."""
    addresses = []
    for _ in range(2):
        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        addresses.append(f"http://127.0.0.1:{server.server_port}")
    return addresses
