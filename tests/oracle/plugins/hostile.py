"""Filters that do what no filter should."""

import os
import signal
import socket
import sys
import time

import __main__
from jinja2 import pass_context


def loop(value):
    while True:
        pass


def wait(value):
    time.sleep(3600)


def spin(value):
    for _ in range(6):
        if os.fork() == 0:
            break
    loop(value)


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


def fork(value):
    while True:
        if os.fork() == 0:
            signal.pause()


def connect(port):
    socket.create_connection(("127.0.0.1", port))


def connect_to_path(path):
    socket.socket(socket.AF_UNIX).connect(path)


def send(data):
    os.write(__main__.CHANNEL, data)


def half(value):
    send(b"\x00\x00\x00\x01x")
    os._exit(0)


def stale(value):
    __main__.send({"id": 1, "value": "forged"})


def other(value):
    __main__.send({"id": 10**30, "value": {"~": "code", "v": 1}})
    os._exit(0)


def unknown(value):
    __main__.marked = lambda kind, value: {"~": "code", "v": value}
    return (value,)


def deep(value):
    made = []
    for _ in range(900):
        made = [made]
    return made


def ask(question):
    __main__.send({"id": 10**6, "ask": question})


@pass_context
def ask_much(context, value):
    call = context.parent.call
    odd = [{}, [], None, 1, {"names": 1}, {"names": ["none"] * 100}, {"variable": []}, {"variable": [1]}, {"other": 1}]
    return [sorted(call.ask(question)) for question in odd]


@pass_context
def variable(context, name):
    return context.resolve(name)


def depth(value):
    frame, count = sys._getframe(), 0
    while frame:
        count += frame.f_code.co_name == "serve"
        frame = frame.f_back
    return count


class Unreadable(Exception):
    def __str__(self):
        raise ValueError("no text")


def unreadable(value):
    raise Unreadable()


class FilterModule(object):
    def filters(self):
        return {
            "loop": loop, "wait": wait, "spin": spin, "memory": memory, "read": read, "write": write, "fork": fork, "connect": connect,
            "connect_to_path": connect_to_path, "half": half, "stale": stale, "other": other, "unknown": unknown,
            "deep": deep, "large": lambda value: "x" * (40 << 20), "leave": lambda value: os._exit(3),
            "crash": lambda value: os.kill(os.getpid(), signal.SIGSEGV), "run": lambda value: os.popen("id -u").read(),
            "forge": lambda value: send(b"\x02\x00\x00\x00{}"), "good": lambda value: value + 1,
            "huge": lambda value: send(b"\xff\xff\xff\x7fx"), "kill": lambda value: os.kill(-1, signal.SIGKILL),
            "ask_much": ask_much, "forge_question": lambda value: ask({"names": []}),
            "names": lambda value: [name for name in os.environ if "SECRET" in name],
            "variable": variable, "depth": depth, "unreadable": unreadable, "digits": lambda value: 10**5000,
            "items_of": lambda value: [1] * (9 << 20),
        }
