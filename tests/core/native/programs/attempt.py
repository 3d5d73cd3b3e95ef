#!/usr/bin/python3
# WANT_JSON: tries one thing, and says how it went.
import json
import os
import socket
import sys

args = json.load(open(sys.argv[1]))


def read(path):
    with open(path) as file:
        return file.read()


def write(path):
    with open(path, "w") as file:
        file.write("written")
    return "written"


def env(name):
    return os.environ[name]


def connect(port):
    with socket.create_connection(("127.0.0.1", int(port)), 5):
        return "connected"


def listen(port):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", int(port)))
        server.listen()
        return "listening"


def run(path):
    return os.popen(path).read() or 1 / 0


try:
    print(json.dumps({"got": locals()[args["op"]](args["what"]), "changed": False}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error)}))
