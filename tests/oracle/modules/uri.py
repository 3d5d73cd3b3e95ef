"""Scenarios of `uri`. `URL` and `OTHER` stand for two servers, `ROOT` for the folder of the scenario."""

import re
import urllib.parse

KEYS = ["status", "url", "redirected", "json", "content", "cookies", "cookies_string", "content_type", "content_length", "location",
    "x_custom", "x_many", "x_many_words", "www_authenticate", "stdout"]
PROMISED = [*KEYS, "path", "mode", "size", "state", "uid"]
FAILED = [*KEYS, "path"]

# Python's own words for what it does not understand.
POSITIONS = re.compile(r"^(An unknown error occurred: ).*", re.S)


def case(path, files=None, dest=False, **arguments):
    url = path if "://" in path or ":" not in path and not path.startswith("/") else f"URL{path}"
    return {"files": files or {}, "arguments": {"url": url, **arguments}, "path": "dest" if dest else None}


def to(code, target, **arguments):
    return case(f"/redirect/{code}?to={urllib.parse.quote(target)}", return_content=True, **arguments)


FORM = {"a": 1, "b c": "d&e=f", "l": [1, "two", None, True], "n": None, "u": "ü/~"}
PARTS = {
    "text": "some text",
    "file": {"filename": "ROOT/g"},
    "named": {"filename": "ROOT/not there.html", "content": "<p>"},
    "typed": {"content": "x", "mime_type": "text/x-y"},
    "plain": {"filename": "ROOT/g", "multipart_encoding": "7or8bit"},
    "größe": {"filename": "ö \"x\".png", "content": "p"},
}

SCENARIOS = [
    case("/text"),
    case("/text", return_content=True),
    case("/data"),
    case("/data/suffix", return_content=True),
    case("/data/script"),
    case("/data/upper"),
    case("/wrong", return_content=True),
    case("/latin", return_content=True),
    case("/bytes", return_content=True),
    case("/untyped", return_content=True),
    case("/gzip", return_content=True),
    case("/chunked", return_content=True),
    case("/doubled"),
    case("/text?q=1&r=a%20b#part", return_content=True),
    case("/echo/path"),
    case("/echo", method="head"),
    case("/echo", method="POST"),
    case("/echo", method="DELETE"),
    case("/echo", method="PUT", body="some text"),
    case("/echo", method="REPORT", body="größe"),
    case("/echo", body="with a GET"),
    case("/echo", method="P0ST"),
    case("/echo", method="POST", body={"a": [1, 2.5, None, "ü"]}, body_format="json"),
    case("/echo", method="POST", body='{"made": "already"}', body_format="json"),
    case("/echo", method="POST", body=[], body_format="json", headers={"content-type": "application/x-own"}),
    case("/echo", method="POST", body_format="json"),
    case("/echo", method="POST", body=FORM, body_format="form-urlencoded"),
    case("/echo", method="POST", body=[["a", 1], ["a", [2, 3]]], body_format="form-urlencoded"),
    case("/echo", method="POST", body="a=1", body_format="form-urlencoded"),
    case("/echo", method="POST", body=[["a"]], body_format="form-urlencoded"),
    case("/echo", {"g": "contents\n" * 20}, method="POST", body=PARTS, body_format="form-multipart"),
    case("/echo", method="POST", body=[1], body_format="form-multipart"),
    case("/echo", method="POST", body={"a": 1}, body_format="form-multipart"),
    case("/echo", method="POST", body={"a": {}}, body_format="form-multipart"),
    case("/echo", method="POST", body={"a": {"filename": "x", "multipart_encoding": "y"}}, body_format="form-multipart"),
    case("/echo", {"g": "from a file\n"}, method="PUT", src="g"),
    case("/echo", method="PUT", src="g"),
    case("/echo", {"g": "x"}, method="PUT", src="g", body="x"),
    case("/echo", body_format="xml"),
    case("/echo", headers={"X-One": "1", "x-two": 2, "X-Three": True}, http_agent="a browser", force=True),
    case("/echo", headers={"X-One": "a\nb"}),
    case("/status/404"),
    case("/status/404", return_content=True),
    case("/status/404?json", status_code=404, return_content=True),
    case("/status/404?json", status_code=404),
    case("/status/500", status_code=[200, 404]),
    case("/status/201", status_code="200,201"),
    case("/status/204", status_code=[204]),
    case("/status/202", status_code=[200]),
    case("/status/200", status_code=[201, 202], return_content=True),
    case("/status/200", status_code="many"),
    to(302, "/echo/x"),
    to(301, "OTHER/echo"),
    to(302, "/echo/x", follow_redirects="none"),
    to(302, "/echo/x", follow_redirects="no", status_code=302),
    to(302, "/echo/x", method="POST", body="b"),
    to(302, "/echo/x", method="POST", body="b", follow_redirects="all"),
    to(301, "/echo/x", method="PUT", body="b", follow_redirects="all"),
    to(303, "/echo/x", method="PUT", body="b", follow_redirects="yes"),
    to(307, "OTHER/echo/x", method="POST", body={"b": 1}, body_format="json", follow_redirects="all"),
    to(308, "../echo/x", method="PUT", body="b", follow_redirects="all"),
    to(302, "/echo/x", method="POST", body="b", follow_redirects="urllib2"),
    to(307, "/echo/x", method="POST", body="b", follow_redirects="urllib2"),
    to(302, "file:///etc/passwd", follow_redirects="all"),
    to(302, "/echo/a b/ü"),
    to(302, "OTHER/echo", headers={"X-Stay": "1", "X-Go": "2"}, unredirected_headers=["x-stay"]),
    case("/nowhere", return_content=True),
    case("/loop"),
    case("/loop?count"),
    case("/cookies"),
    case("/cookies/redirect"),
    case("/auth", url_username="user", url_password="pa:ss"),
    case("/auth", user="user", password="wrong"),
    case("/auth", url_username="user", url_password="pa:ss", force_basic_auth=True),
    case("/echo", url_username="user", url_password="pa:ss", force_basic_auth=True),
    case("/auth", return_content=True),
    case("/echo", url_username="user", url_password="pa:ss"),
    case("/text", dest=True),
    case("/text", {"f": "hello\n"}, dest=True),
    case("/text", {"f": "old\n"}, dest=True, mode="0600"),
    case("/big", dest=True),
    case("/data", dest=True, return_content=True),
    case("/status/404", {"f": "old\n"}, dest=True),
    case("/status/404", dest=True, status_code=404, return_content=True),
    case("/dated", {"f": "old\n"}, dest=True),
    case("/dated", {"f": "old\n"}, dest=True, status_code=[200, 304]),
    case("/dated", {"f": "old\n"}, dest=True, force=True),
    case("/dated/later", {"f": "old\n"}, dest=True),
    {**case("/text", dest=True), "folders": ["f"]},
    {**case("/", dest=True, status_code=[404], return_content=True), "folders": ["f"]},
    {**case("/named?as=attachment;filename=x.txt", dest=True), "folders": ["f"]},
    case("/text", {"g": ""}, creates="ROOT/g"),
    case("/text", creates="ROOT/g"),
    case("/text", removes="ROOT/g"),
    case("/text", {"g": ""}, removes="ROOT/g"),
    case("/short", return_content=True),
    case("/gone"),
    case("/slow", timeout=1),
    case("http://127.0.0.1:1/"),
    case("no address"),
    case("gopher://127.0.0.1/"),
    case("http:///path"),
    case("/a b"),
    case("http://user:secret@127.0.0.1:1/"),
    case("/text", unknown=1),
    {"files": {}, "arguments": {}, "path": None},
]
