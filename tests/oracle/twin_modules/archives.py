"""Small archives to unpack, by what they are. They are made once, with fixed times, so that every run has the same bytes."""

import base64
import io
import tarfile
import zipfile

TIME = 1_600_000_000


def tar(mode, *members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for name, contents, bits in members:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = bits, TIME
            if contents is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            elif contents.startswith("-> "):
                info.type, info.linkname = tarfile.SYMTYPE, contents[3:]
                archive.addfile(info)
            else:
                info.size = len(contents)
                archive.addfile(info, io.BytesIO(contents.encode()))
    return base64.b64encode(packed.getvalue()).decode()


def zip_of(*members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents, bits in members:
            info = zipfile.ZipInfo(name, (2020, 9, 13, 12, 26, 40))
            info.external_attr = (bits | (0o40000 if contents is None else 0o100000)) << 16
            archive.writestr(info, contents or "")
    return base64.b64encode(packed.getvalue()).decode()


PLAIN = ("a", "new a\n", 0o644), ("d/", None, 0o755), ("d/x", "x\n", 0o600), ("c.txt", "c\n", 0o640)
ARCHIVES = {
    "tar": tar("w", *PLAIN),
    "tgz": tar("w:gz", *PLAIN),
    "links": tar("w", ("a", "a\n", 0o644), ("l", "-> a", 0o777)),
    "file": tar("w", ("a", "only\n", 0o644)),
    "zip": zip_of(*PLAIN),
    "broken": base64.b64encode(b"no archive at all\n" * 40).decode(),
}
