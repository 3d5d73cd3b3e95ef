"""Scenarios of community.general's `archive`. Archives are compared by what is in them.

Left out on purpose: `remove` with a link to a folder, which the original cannot remove, and archives inside of what is removed,
where its message is a crash. Folders that hold pipes and the like: modbox leaves those out. Where a file cannot be read, the
original leaves half of an archive, and where something else is in the place of a tar archive, it gives up.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import tarfile
import zipfile

MODULE = "ansible_collections.community.general.plugins.modules.archive"
PROMISED = ["dest", "dest_state", "archived", "missing", "arcroot", "expanded_paths", "expanded_exclude_paths", "uid", "gid", "owner",
    "group", "mode", "state"]
TREE = True

FILES = {"t/a.txt": "alpha\n", "t/b.log": "beta\n" * 500, "t/d/c.txt": "gamma\n", "t/d/e/g": "", "u": "single\n", "v.txt": "other\n"}


def opened(contents):
    for unpack in gzip.decompress, bz2.decompress, lambda packed: lzma.decompress(packed, lzma.FORMAT_XZ):
        try:
            return unpack(contents)
        except (OSError, EOFError, lzma.LZMAError):
            pass
    return contents


def zip_time(info):
    """The time of a member; not that of files which the case has just made."""
    return info.date_time if info.date_time < (2025, 6) else "now"


def decode(contents):
    """What is in an archive, or what was compressed."""
    if zipfile.is_zipfile(io.BytesIO(contents)):
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            return sorted([info.filename, oct(info.external_attr >> 16), info.CRC, zip_time(info), info.compress_type]
                for info in archive.infolist())
    plain = opened(contents)
    try:
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            members = []
            for info in archive.getmembers():
                # Which of two names comes first, the order of the folder decides.
                data = archive.extractfile(info).read() if info.isreg() or info.islnk() else b""
                kind, link = ("0", "") if info.islnk() else (info.type.decode(), os.path.basename(info.linkname))
                time = info.mtime if info.mtime < 1_750_000_000 else "now"
                members.append([info.name, oct(info.mode), info.uid, info.uname, info.gname, time, link, kind,
                    hashlib.sha256(data).hexdigest()])
            return sorted(members)
    except tarfile.TarError:
        return [plain.decode(errors="replace")]


def case(*paths, dest="ROOT/f", files=None, **arguments):
    scenario = {key: arguments.pop(key) for key in ("links", "names", "modes", "folders", "own_words") if key in arguments}
    given = {"path": [f"ROOT/{path}" for path in paths], **arguments}
    if dest is not None:
        given["dest"] = dest
    times = {name: 1_600_000_000 for name in ("t/d/e", "t/d", "t", "w") if f"{name}/" in "".join(files or FILES) or name in scenario.get("folders", ())}
    return {"files": files or FILES, "times": times, "path": None, "arguments": given, **scenario}


TAR_KINDS = ("gz", "bz2", "xz", "tar", "zip")

SCENARIOS = [
    *[case("t", format=kind) for kind in TAR_KINDS],
    *[case("u", format=kind) for kind in TAR_KINDS],
    *[case("u", dest=None, format=kind) for kind in ("gz", "bz2", "xz")],
    *[case("u", force_archive=True, format=kind) for kind in TAR_KINDS],
    *[case("t", "u", "v.txt", format=kind) for kind in TAR_KINDS],
    case("t"),
    case("t", mode="0600"),
    case("u", mode="u=rw,go="),
    case("t", dest=None),
    case("t", dest="ROOT/f.tar.gz"),
    case("t/", format="tar"),
    case("t/d", format="tar"),
    case("t/d", "t/a.txt", format="zip"),
    case("t/*.txt", format="tar"),
    case("t/*", format="zip"),
    case("t/*", "?", format="tar"),
    case("t/nope*", format="tar"),
    case("t", "gone", format="tar"),
    case("gone", format="gz"),
    case("gone", "gone2", format="zip"),
    case("gone", format="gz", files={**FILES, "f": "there\n"}),
    case("gone", dest="ROOT/f.tar", format="gz", files={**FILES, "f.tar": "there\n"}),
    case("t", "u", exclude_path=["ROOT/u"], format="tar"),
    case("t", "u", "v.txt", exclude_path=["ROOT/v*"], format="tar"),
    case("u", exclude_path=["ROOT/u"]),
    case("t", exclusion_patterns=["*.log"], format="tar"),
    case("t", exclusion_patterns=["t/d*"], format="gz"),
    case("t", exclusion_patterns=["*/d", "*/d/*"], format="zip"),
    case("u", exclusion_patterns=["u"], format="tar"),
    case("t", remove=True, format="tar"),
    case("t", remove=True, format="zip"),
    case("u", remove=True, format="gz"),
    case("u", "v.txt", remove=True, format="bz2"),
    case("t/*.txt", remove=True, format="xz"),
    case("t", format="gz", files={**FILES, "f": "old\n"}, modes={"f": 0o640}),
    case("t", format="zip", files={**FILES, "f": "old\n"}),
    case("u", format="gz", files={**FILES, "f": "old\n"}),
    case("t", format="tar", links={"t/l": "a.txt", "t/m": "d", "t/n": "nowhere"}),
    case("t", format="zip", links={"t/l": "a.txt", "t/m": "d"}),
    case("t", format="tar", links={"t/l": "ROOT/u"}),
    case("l", format="tar", links={"l": "u"}),
    case("t", format="tar", names={"t/again": "t/a.txt"}),
    case("t", format="tar", modes={"t/a.txt": 0o755, "t/d": 0o700}),
    case("t", format="zip", modes={"t/a.txt": 0o755, "t/d": 0o700}),
    case("w", format="tar", folders=["w"]),
    case("t", format="tar", files={"t/" + "x" * 120: "long\n", "t/\u00e9": "text\n"}, own_words=True),
    case("t", format="rar"),
    case("t", unknown=1),
]
