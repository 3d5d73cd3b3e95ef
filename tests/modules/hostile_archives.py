#!/usr/bin/env python3
"""Makes the archives of `hostile_archives.rs` in a folder: each tries something that no archive may do.

    python3 tests/hostile_archives.py FOLDER OUTSIDE

OUTSIDE is a folder that stands beside `dest`, with a file `secret` in it.
"""

import bz2
import gzip
import io
import os
import struct
import sys
import tarfile
import warnings
import zipfile

FILE, LINK, HARD, DIRECTORY = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


def tar(*members):
    """Members are (name, type, what a link says or a file holds)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind, *more in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            data = b""
            if kind in (LINK, HARD):
                info.linkname = more[0]
            elif more:
                data = more[0].encode() if isinstance(more[0], str) else more[0]
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    """Members are (name, contents, and for links their mode)."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, contents, *mode in members:
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (mode[0] if mode else 0o100644) << 16
            archive.writestr(info, contents, method)
    return out.getvalue()


def many(count):
    """Headers of empty files, with names that differ so that they do not look like a bomb."""
    blank = bytearray(tarfile.TarInfo("0000000").tobuf(tarfile.USTAR_FORMAT))
    total = sum(blank[:148]) + sum(blank[156:]) + 8 * 32
    headers = []
    for number in range(count):
        name = b"%07d" % number
        blank[:7] = name
        blank[148:156] = b"%06o\0 " % (total - 7 * 48 + sum(name))
        headers.append(bytes(blank))
    return b"".join(headers) + bytes(1024)


def sharing(archive):
    """A second entry in the list, which leads to the same bytes under another name."""
    start = archive.index(b"PK\1\2")
    end = archive.index(b"PK\5\6")
    entry, tail = archive[start:end], bytearray(archive[end:])
    again = entry.replace(b"one", b"two")
    size = len(entry) + len(again)
    struct.pack_into("<HHI", tail, 8, 2, 2, size)
    return archive[:start] + entry + again + bytes(tail)


def patched(archive, offsets_from, value):
    """Writes a number into the local header and into the list."""
    local, listed = archive.index(b"PK\3\4"), archive.index(b"PK\1\2")
    out = bytearray(archive)
    for at, pack in ((local + offsets_from[0], offsets_from[2]), (listed + offsets_from[1], offsets_from[2])):
        struct.pack_into(pack, out, at, value)
    return bytes(out)


def flipped(archive, at):
    return archive[:at] + bytes([archive[at] ^ 0xFF]) + archive[at + 1:]


def archives(outside):
    noise = os.urandom(3000)
    stored = zipped(("x", noise), method=zipfile.ZIP_STORED)
    return {
        "climbs.tar": tar(("../outside/x", FILE, "x")),
        "climbs-inside.tar": tar(("d/../../outside/x", FILE, "x")),
        "climbs.zip": zipped(("../outside/x", "x")),
        "absolute.tar": tar((f"{outside}/x", FILE, "x")),
        "absolute.zip": zipped((f"{outside}/x", "x")),
        "link-out.tar": tar(("l", LINK, "../outside")),
        "link-absolute.tar": tar(("l", LINK, "/etc/passwd")),
        "link-out.zip": zipped(("l", "../outside", 0o120777)),
        "through-link.tar": tar(("l", LINK, "../outside"), ("l/x", FILE, "x")),
        "through-link-inside.tar": tar(("d", DIRECTORY), ("l", LINK, "d"), ("l/x", FILE, "x")),
        "link-after.tar": tar(("l/x", FILE, "x"), ("l", LINK, "../outside")),
        "through-link.zip": zipped(("l", "d", 0o120777), ("l/x", "x")),
        "links-in-a-row.tar": tar(("a/b", LINK, "."), ("c", LINK, "a/b/../../../outside"), ("e", FILE, "x")),
        "hard-out.tar": tar(("h", HARD, "../outside/secret")),
        "hard-of-link.tar": tar(("l", LINK, "d"), ("h", HARD, "l")),
        "hard-absolute.tar": tar(("h", HARD, f"{outside}/secret")),
        "device.tar": tar(("d", tarfile.CHRTYPE)),
        "block.tar": tar(("d", tarfile.BLKTYPE)),
        "fifo.tar": tar(("p", tarfile.FIFOTYPE)),
        "fifo.zip": zipped(("p", "", 0o010644)),
        "unknown.tar": tar(("p", b"Z")),
        "bomb.tar.bz2": bz2.compress(tar(("zeros", FILE, bytes(20 << 20)))),
        "bomb.tar.gz": gzip.compress(tar(("zeros", FILE, bytes(20 << 20)))),
        "bomb.zip": zipped(("zeros", bytes(20 << 20))),
        "sharing.zip": sharing(zipped(("one", noise), method=zipfile.ZIP_STORED)),
        "same-name.zip": zipped(("x", "one"), ("x", "two")),
        "lying.zip": patched(zipped(("x", bytes(5000))), (22, 24, "<I"), 5),
        "encrypted.zip": patched(stored, (6, 8, "<H"), 1),
        "corrupt.zip": flipped(stored, 100),
        "cut.zip": stored[:-30],
        "cut.tar": tar(("x", FILE, noise))[:2000],
        "cut.tar.gz": gzip.compress(tar(("x", FILE, noise)))[:-20],
        "corrupt.tar.gz": flipped(gzip.compress(tar(("x", FILE, "text " * 1000))), 60),
        "checksum.tar.gz": flipped(gzip.compress(tar(("x", FILE, "text"))), -6),
        "header.tar": flipped(tar(("x", FILE, "text")), 4),
        "no-text.tar": tar(("n\udcff", FILE, "x")),
        "many.tar.gz": gzip.compress(many(200_001), 1),
        "behind-own-link.tar": tar(("own/x", FILE, "x")),
        "case.tar": tar(("l", LINK, "d"), ("L/x", FILE, "x")),
        "twice.tar": tar(("x", FILE, "one"), ("x", FILE, "two")),
        "link-then-file.tar": tar(("x", LINK, "y"), ("y", FILE, "y"), ("x", FILE, "x")),
        "good.tar": tar(("d/x", FILE, "x"), ("l", LINK, "d"), ("h", HARD, "d/x")),
        "long.tar": tar(("long", FILE, noise * 4000)),
    }


def main():
    folder, outside = sys.argv[1:]
    for name, contents in archives(outside).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(contents)


if __name__ == "__main__":
    main()
