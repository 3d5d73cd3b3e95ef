"""Scenarios of `get_url`. `URL` and `OTHER` stand for two servers, `ROOT` for the folder of the scenario."""

import hashlib
import urllib.parse

KEYS = ["status_code", "url", "checksum_src", "checksum_dest", "response", "dest"]
PROMISED = [*KEYS, "md5sum", "mode", "size", "state", "uid", "gid", "owner", "group"]
FAILED = KEYS

HELLO = b"hello\n"
DIGEST = {name: hashlib.new(name, HELLO).hexdigest() for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")}


def case(path, files=None, **arguments):
    url = path if "://" in path or not path.startswith("/") else f"URL{path}"
    return {"files": files or {}, "arguments": {"url": url, **arguments}, "path": "dest"}


def redirected(path):
    """In check mode only the head is asked for. Before 3.13, Python asks for all of it after a redirect."""
    return {**case(path), "unlike_in_check": ["checksum_src", "msg"]}


def sums(text, path="/text", files=None, **arguments):
    return case(path, files, checksum=f"sha256:URL/sums/SUMS?text={urllib.parse.quote(text)}", **arguments)


def folder(path, files=None, **arguments):
    return {**case(path, files, **arguments), "folders": [] if files else ["f"]}


SCENARIOS = [
    case("/text"),
    case("/text", {"f": "old\n"}),
    case("/text", {"f": "old\n"}, force=True),
    case("/text", {"f": "hello\n"}),
    case("/text", {"f": "hello\n"}, force=True),
    case("/big"),
    case("/chunked"),
    case("/gzip"),
    case("/gzip", decompress=False),
    case("/text", {"f": "old\n"}, backup=True),
    case("/text", backup=True),
    case("/text", mode="0600"),
    case("/text", {"f": "hello\n"}, mode="0751"),
    case("/text", {"f": "old\n"}, mode="u=rw,go="),
    case("/text", mode="rw"),
    case("/text", owner="no-such-user"),
    folder("/text"),
    folder("/text", {"f/text": "old\n"}),
    folder("/text", {"f/text": "hello\n"}),
    folder("/status/200/"),
    folder("/named?as=attachment;filename=x.txt"),
    folder("/named?as=attachment;filename=%22../../y%20z.txt%22"),
    {**redirected("/redirect/302?to=/text"), "folders": ["f"]},
    case("/text", checksum=f"md5:{DIGEST['md5']}"),
    case("/text", checksum=f"sha1:{DIGEST['sha1']}"),
    case("/text", checksum=f"sha224:{DIGEST['sha224']}"),
    case("/text", checksum=f"sha256:{DIGEST['sha256'].upper()}"),
    case("/text", checksum=f"sha384:{DIGEST['sha384']}"),
    case("/text", checksum=f"sha512:{DIGEST['sha512']}"),
    case("/text", {"f": "hello\n"}, checksum=f"sha1:{DIGEST['sha1']}"),
    case("/text", {"f": "hello\n"}, checksum=f"sha1:{DIGEST['sha1']}", mode="0640"),
    case("/dated", {"f": "old\n"}, checksum="md5:" + hashlib.md5(b"dated\n").hexdigest()),
    case("/text", {"f": "old\n"}, checksum=f"sha1:{DIGEST['md5']}"),
    case("/text", checksum=f"sha1:{DIGEST['md5']}"),
    case("/text", checksum="sha1:no digits"),
    case("/text", checksum=DIGEST["sha1"]),
    {**case("/text", checksum="crc:12"), "own_words": True},
    sums(f"{DIGEST['sha256']}  text\n"),
    sums(f"0000  other\n{DIGEST['sha256']} *text\n"),
    sums(f"{DIGEST['sha256']}  ./text\n", files={"f": "hello\n"}),
    sums(f"SHA256 (text) = {DIGEST['sha256']}\n"),
    sums(f"{DIGEST['sha256']}\n"),
    sums("0000  text\n", files={"f": "old\n"}),
    sums("0000  other\n"),
    sums(""),
    case("/text", checksum="sha256:URL/status/404"),
    case("/dated", {"f": "old\n"}),
    case("/dated", {"f": "old\n"}, force=True),
    case("/dated/later", {"f": "old\n"}),
    case("/status/404"),
    case("/status/404", {"f": "old\n"}),
    case("/status/204"),
    case("/status/500"),
    case("/auth", url_username="user", url_password="pa:ss"),
    case("/auth", username="user", password="wrong"),
    case("/auth", url_username="user", url_password="pa:ss", force_basic_auth=True),
    case("/echo", headers={"X-One": "1", "Accept": "*/*"}, http_agent="a browser"),
    case("/echo", headers="X-One:1"),
    redirected("/redirect/301?to=OTHER/text"),
    redirected("/redirect/307?to=/text"),
    case("/loop"),
    case("/nowhere"),
    case("/short"),
    case("/gone"),
    case("/slow", timeout=1),
    redirected("/cookies/redirect"),
    {**case("/text", tmp_dest="ROOT/t"), "folders": ["t"]},
    case("/text", tmp_dest="ROOT/t"),
    case("/text", {"t": "a file"}, tmp_dest="ROOT/t"),
    {**case("/text", dest="ROOT/no/such/f"), "path": None},
    {**case("/text", {"g": "old\n"}), "links": {"f": "g"}},
    case("http://127.0.0.1:1/"),
    case("no address"),
    case("gopher://127.0.0.1/"),
    case("http://user:secret@127.0.0.1:1/"),
    case("/text", unknown=1),
    {"files": {}, "arguments": {"url": "URL/text"}, "path": None},
]
