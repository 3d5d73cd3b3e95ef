"""The worker's channel to the host, and its start, in the sandbox."""

import ast
import importlib.util
import io
import json
import os
import sys
import traceback

import modbox_worker as worker
from modbox_python import commands, controller, start, system, whole_writes
from wit_world.imports import plugins as channel


class Recorder:
    """Comes after all other finders, and lists the modules that none of them has."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Finds nothing."""
        del path, target
        top = name.partition('.')[0]
        # What is missing in a package of a collection is one of its own files.
        if top not in sys.modules:
            worker.ABSENT[top] = True


def look_for_imports(text):
    """Looks for all modules that a source imports, also those that only a call would import, so that the recorder lists the
    missing ones."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            tops = [alias.name.partition('.')[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            tops = [node.module.partition('.')[0]]
        else:
            continue
        for top in tops:
            if top not in sys.modules:
                importlib.util.find_spec(top)


def load(plugins, message):
    """Loads a file as everywhere, and lists what it lacks."""
    answer = load_anywhere(plugins, message)
    look_for_imports(message['text'])
    return answer


class Silence(io.TextIOBase):
    """A stream that takes all that is written."""

    def writable(self):
        return True

    def write(self, text):
        return len(text)


def receive():
    """Returns the next message; ends the worker when the host is done."""
    return message_of(channel.next())


def ask(question):
    """Sends a question, and returns the next message."""
    return message_of(channel.ask(worker.data_of(question)))


def message_of(data):
    if data is None:
        raise SystemExit(0)
    return json.loads(data)


def write(data):
    """Sends an answer."""
    if not channel.answer(data):
        raise SystemExit(0)


def one_line(error):
    """Returns an exception that a plugin's file raised when it was loaded; for a module that the sandbox lacks, where it is
    imported."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition('.')[0] in worker.ABSENT:
        # The importer's own frames have no file of the machine.
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith('/')]
        place = 'line %d of `%s`' % (frames[-1].lineno, frames[-1].filename) if frames else 'it'
        return '%s imports `%s`, which the sandbox does not have; `--python native` runs it outside of the sandbox' % (
            place, error.name)
    return native_line(error)


native_line, load_anywhere = worker.one_line, worker.Plugins.load


def run(store, about):
    """Serves the host until it is done, and returns the exit status. Without a start file, says what the worker has."""
    if len(sys.argv) < 3:
        return start.run(store, about)
    with open(sys.argv[2], encoding='utf-8') as file:
        given = json.load(file)
    whole_writes.renew_streams()
    system.renew(given['host'])
    os.environ.clear()
    os.environ.update(given['environment'])
    # Commands get the variables that the policy grants, and none of these.
    commands.renew()
    os.chdir('/tmp')
    sys.path[:], sys.executable, sys.dont_write_bytecode = [], given['executable'], True
    sys.argv[:] = ['']
    worker.receive, worker.ask, worker.write, worker.one_line = receive, ask, write, one_line
    worker.Plugins.load = load
    try:
        controller.renew()
        sys.meta_path.append(Recorder)
        plugins = worker.prepared()
    except Exception as error:
        worker.send({'error': worker.one_line(error)})
        return 1
    sys.stdout = sys.stderr = Silence()
    worker.send({'ready': True})
    while True:
        try:
            plugins.serve(receive())
        except SystemExit:
            # The host is done; what a plugin ends itself with is an error of its call.
            return 0
