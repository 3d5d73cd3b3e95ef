#!/usr/bin/python3
"""A guest worker that its guest has taken over. It plays the protocol as far as a run, then does what MODE says."""

import json
import os
import re
import socket
import struct
import sys
import time

MODE, MODBOX = "@MODE@", "@MODBOX@"

channel = socket.socket(fileno=0)
if b"Launcher" in channel.recv(4096, socket.MSG_PEEK):
    os.execv(MODBOX, ["modbox", "__worker"])


def exactly(count):
    data = b""
    while len(data) < count:
        more = channel.recv(count - len(data))
        if not more:
            sys.exit()
        data += more
    return data


def frame():
    return exactly(struct.unpack("<I", exactly(4))[0])


def parcel(message, attached=None):
    lengths = [] if attached is None else [len(attached)]
    payload = json.dumps([message, lengths]).encode() + (attached or b"")
    return struct.pack("<I", len(payload)) + payload


frame()  # the assignment
frame()  # the code
exactly(1)
setup = json.loads(frame())[0]["SetUp"]
confined = parcel({"Confined": {"level": 3, "layers": [], "missing": []}})
channel.sendall(confined)
frame()  # the first run
limits = dict(setup["limits"], timeout={"secs": 1 << 62, "nanos": 0})
command = {"program": "sleep", "arguments": ["@SLEEP@"], "environment": [], "directory": None, "umask": None, "limits": limits}
commands = parcel({"Command": command}, b"")
if MODE == "confined":
    while True:
        time.sleep(0.05)
        channel.sendall(confined)
elif MODE == "commands":
    channel.sendall(commands * 20)
elif MODE == "command":
    channel.sendall(commands)
elif MODE == "output":
    while True:
        channel.sendall(parcel({"Printed": "Stdout"}, b"x" * 60000))
elif MODE in ("writes", "reads"):
    # Keeps a file of the layer of each run, and says that the run has ended well.
    layer = re.search('"(/[^"]*/layer)"', json.dumps(setup)).group(1)
    zero = {"total": 0}
    usage = "wall_us cpu_us memory_bytes stdout_bytes stderr_bytes disk_bytes tmp_bytes files descriptors".split()
    timing = "load_us compile_us instantiate_us run_us".split()
    ended = {"exit": {"Code": 0}, "stdout": {"total": 2}, "stderr": zero, "limit": None, "usage": dict.fromkeys(usage, 0),
             "timing": dict.fromkeys(timing, 0), "denials": {"listed": [], "omitted": 0}, "lost": [],
             "survivors": [], "left_in_tmp": [], "requests": [], "refused_renames": False, "notes": []}
    kept = []
    while True:
        with open(layer + "/file", "a") as file:
            file.write(str(os.getpid()) + "\n")
        kept.append(open(layer + "/file", "a" if MODE == "writes" else "r"))
        channel.sendall(parcel({"Printed": "Stdout"}, b"{}") + parcel({"Ended": ended}))
        frame()  # the next run
elif MODE == "length":
    channel.sendall(b"\xff\xff\xff\xff")
elif MODE == "died":
    channel.sendall(commands)
    time.sleep(0.5)
    sys.exit(7)
time.sleep(3600)
