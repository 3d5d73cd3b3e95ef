"""Filters that do what no filter should, in the sandbox."""

import os
import signal
import socket
import subprocess
import time

import modbox_worker
from jinja2 import pass_context
from wit_world.imports import plugins as channel


def loop(value):
    while True:
        pass


def memory(value):
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def read(path):
    with open(path) as file:
        return file.read()


def write(path):
    with open(path, "w") as file:
        file.write("x")


def connect(port):
    socket.create_connection(("127.0.0.1", port))


def deep(value):
    made = []
    for _ in range(900):
        made = [made]
    return made


def recursion(value):
    return recursion(value)


def many(value):
    for number in range(1000):
        channel.answer(b"{}")


@pass_context
def variable(context, name):
    return context.resolve(name)


class FilterModule(object):
    def filters(self):
        return {
            "loop": loop, "wait": lambda value: time.sleep(3600), "memory": memory, "read": read, "write": write,
            "fork": lambda value: os.fork(), "kill": lambda value: os.kill(1, signal.SIGKILL), "connect": connect,
            "run": lambda value: subprocess.run(["/usr/bin/id"], check=True), "deep": deep, "recursion": recursion,
            "large": lambda value: "x" * (40 << 20), "leave": lambda value: os._exit(3), "many": many,
            "forge": lambda value: channel.answer(b"{}"),
            "stale": lambda value: modbox_worker.send({"id": 1, "value": "forged"}),
            "other": lambda value: modbox_worker.send({"id": 10**30, "value": {"~": "code", "v": 1}}),
            "forge_question": lambda value: modbox_worker.send({"id": 10**6, "ask": {"names": []}}),
            "huge": lambda value: channel.answer(bytes(40 << 20)), "good": lambda value: value + 1,
            "names": lambda value: [name for name in os.environ if "SECRET" in name],
            "items_of": lambda value: channel.answer(b"[" + b"1," * (9 << 20) + b"1]"), "variable": variable,
        }
