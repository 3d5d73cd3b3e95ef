"""Commands: a `subprocess.Popen` that runs them by the host.

The host runs a command from its start to its end, and returns its output. So a command starts when its result is needed
for the first time: then its input is complete. A module cannot talk with a command that runs, and cannot signal it.
Output that a command writes to both streams at once (`stderr=STDOUT`) is in the order of the streams.
"""

import errno
import functools
import io
import os
import posixpath
import subprocess
import time

from modbox_python import errors, host, identity, pipes
from modbox_python.unsupported import Unsupported

PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL

# Most bytes of a command's input. The host takes as many, with the command's words.
_MOST_INPUT = 2 << 20

_environment = {}

# The timeout of the call of `subprocess.run` or `subprocess.call` that makes the next command.
_call_timeout = None


def renew():
    """Remembers the variables that commands get from the host in any case."""
    _environment.clear()
    _environment.update(os.environ)


_failures = []


class CommandError(subprocess.SubprocessError):
    """A command ran, and its result cannot be had. `run_command` does not show why, so the host does."""

    def __init__(self, reason):
        _failures.append(reason)
        super().__init__(reason)


def failures():
    """Returns the reasons of this run's errors."""
    return list(_failures)


class Popen:
    """A command, with the interface of `subprocess.Popen`."""

    def __init__(self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, preexec_fn=None,
                 close_fds=True, shell=False, cwd=None, env=None, universal_newlines=None, startupinfo=None,
                 creationflags=0, restore_signals=True, start_new_session=False, pass_fds=(), *, user=None, group=None,
                 extra_groups=None, encoding=None, errors=None, text=None, umask=-1, pipesize=-1, process_group=None):
        del bufsize, close_fds, startupinfo, creationflags, restore_signals, start_new_session, pipesize, process_group
        if pass_fds:
            raise Unsupported("subprocess.Popen(pass_fds=...)")
        if user is not None or group is not None or extra_groups is not None:
            raise Unsupported("subprocess.Popen(user=...)")
        self.args, self.pid, self.returncode = args, None, None
        self._command = _words(args, shell, executable, cwd)
        self._cwd = _directory(cwd)
        self._changes = _changed(os.environ if env is None else env)
        self._umask = _umask_after(preexec_fn, umask)
        self._sinks, self._result, self._timeout, self._took = (stdout, stderr), None, _call_timeout, 0.0
        self._input = b""
        as_text = text or universal_newlines or encoding or errors
        self.text_mode = bool(as_text)
        self._wrap = (lambda file: io.TextIOWrapper(file, encoding, errors)) if as_text else (lambda file: file)
        self._raw_input = pipes.InputPipe() if stdin == PIPE else None
        self._source = stdin
        self.stdin = None
        if self._raw_input is not None:
            self.stdin = io.BufferedWriter(self._raw_input)
            if as_text:
                self.stdin = io.TextIOWrapper(self.stdin, encoding, errors, write_through=True)
        self.stdout = self._reader(0) if stdout == PIPE else None
        self.stderr = self._reader(1) if stderr == PIPE else None
        # Without input to wait for, a command that cannot start fails here, as natively.
        if self._raw_input is None:
            self._run()

    def _reader(self, stream):
        return self._wrap(io.BufferedReader(pipes.OutputPipe(lambda: self._run()[stream])))

    def _run(self):
        """Runs the command once, and returns its two outputs."""
        if self._result is not None:
            return self._result
        if self._raw_input is not None:
            if not self.stdin.closed:
                self.stdin.flush()
            self._input = bytes(self._raw_input.collected)
        elif self._source not in (None, DEVNULL):
            self._input = _contents(self._source)
        if len(self._input) > _MOST_INPUT:
            raise Unsupported("an input of more than 2 MiB for a command")
        program, arguments = self._command
        request = host.process.Command(
            program=program, arguments=arguments, environment=self._changes, directory=self._cwd, input=self._input,
            umask=self._umask, timeout=None if self._timeout is None else max(1, int(self._timeout * 1000)))
        began = time.monotonic()
        try:
            output = host.process.run(request)
        except host.Err as refused:
            self._result = (b"", b"")
            self.returncode = 127
            raise _refusal(refused.value, program, self._cwd) from None
        self._took = time.monotonic() - began
        outputs = [bytes(output.stdout.bytes), bytes(output.stderr.bytes)]
        for captured in (output.stdout, output.stderr):
            if captured.length > len(captured.bytes):
                raise CommandError("the output of `%s` is longer than the limit for outputs, %d bytes; raise it with "
                                   "`--max-output`" % (program, len(captured.bytes)))
        self._result = self._deliver(*outputs)
        self.returncode = self._status(output.ending)
        return self._result

    def _status(self, ending):
        kind = type(ending).__name__
        if kind.endswith("Exited"):
            return ending.value
        if kind.endswith("Signalled"):
            return -ending.value
        if kind.endswith("TimedOut") and self._timeout is not None:
            raise subprocess.TimeoutExpired(self.args, self._timeout, *self._result)
        raise CommandError("a command passed a limit of the run: %s" % getattr(ending, "value", "time"))

    def _deliver(self, out, err):
        """Writes outputs that do not go to a pipe, and returns those that do."""
        to_out, to_err = self._sinks
        if to_err == STDOUT:
            out, err, to_err = out + err, b"", DEVNULL
        for data, sink, own in ((out, to_out, 1), (err, to_err, 2)):
            if sink in (PIPE, DEVNULL) or not data:
                continue
            sink = own if sink is None else sink
            if not isinstance(sink, int):
                sink.flush()
                sink = sink.fileno()
            _write_all(sink, data)
        return out, err

    def poll(self):
        """Returns the status of the command, or `None` while it waits for input."""
        if self.returncode is None and (self.stdin is None or self.stdin.closed):
            self._run()
        return self.returncode

    def wait(self, timeout=None):
        """Runs the command if it has not run yet, and returns its status."""
        self._run_within(timeout)
        return self.returncode

    def _run_within(self, timeout):
        """Runs the command. One that ran before its time limit was known, and took longer, is late, too."""
        if self._result is None:
            self._timeout = self._timeout if timeout is None else timeout
            self._run()
        elif timeout is not None and self._took > timeout:
            self._took = 0.0
            raise subprocess.TimeoutExpired(self.args, timeout, *self._result)

    def communicate(self, input=None, timeout=None):
        """Runs the command with an input, and returns its outputs."""
        if self.stdin is not None:
            if input and not self.stdin.closed:
                self.stdin.write(input)
            if not self.stdin.closed:
                self.stdin.close()
        self._run_within(timeout)
        outputs = []
        for stream in (self.stdout, self.stderr):
            outputs.append(None if stream is None else stream.read())
            if stream is not None:
                stream.close()
        return tuple(outputs)

    def send_signal(self, signal):
        """Does nothing: a command that can be signalled has ended."""
        del signal
        self.poll()

    def terminate(self):
        """Does nothing: a command that can be signalled has ended."""
        self.send_signal(15)

    kill = terminate

    def __enter__(self):
        return self

    def __exit__(self, *_raised):
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait()

    def __repr__(self):
        return "<Popen: returncode: %s args: %r>" % (self.returncode, self.args)


def _words(args, shell, executable, cwd):
    """Returns the program and its arguments."""
    if isinstance(args, (str, bytes)) or hasattr(args, "__fspath__"):
        args = [args]
    words = [os.fsdecode(word) for word in args]
    if shell:
        words = ["/bin/sh", "-c", *words]
    program = os.fsdecode(executable) if executable is not None else words[0]
    if "/" in program and not program.startswith("/"):
        program = posixpath.join(os.getcwd(), os.fsdecode(cwd or ""), program)
    for word in (program, *words):
        if "\0" in word:
            raise ValueError("embedded null byte")
        _utf_8(word)
    return program, words[1:]


def _utf_8(word):
    """Returns a word. One that is not UTF-8 cannot be passed to the host."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        raise errors.error(errno.EILSEQ, word) from None
    return word


def _directory(cwd):
    """Returns the working directory. `None` lets the host choose, for a run that has none."""
    here = os.getcwd()
    if cwd is None and here in ("/", host.environment.initial_cwd()):
        return None
    here = posixpath.join(here, "" if cwd is None else os.fsdecode(cwd))
    return _utf_8(here.rstrip("/") or "/")


def _changed(env):
    """Returns the variables that differ from those that the host gives to commands."""
    named = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    return [(name, value) for name, value in named.items() if _environment.get(name) != value]


def _umask_after(preexec_fn, umask):
    """Returns the umask that a command starts with. `preexec_fn` runs here, and may change nothing else."""
    before = identity.current_umask()
    if preexec_fn is not None:
        preexec_fn()
    after = identity.umask(before)
    return umask if umask >= 0 else after


def _contents(source):
    """Returns what is left of a file that a command reads."""
    number = source if isinstance(source, int) else source.fileno()
    chunks = iter(lambda: os.read(number, 1 << 16), b"")
    return b"".join(chunks)


def _write_all(number, data):
    while data:
        data = data[os.write(number, data):]


def _refusal(error, program, directory):
    """Returns the `OSError` of a command that did not run."""
    kind = type(error).__name__
    if kind.endswith(("NotFound", "Denied")):
        # A program that is not granted is one that is not there; the report has the denial.
        return errors.error(errno.ENOENT, program)
    if kind.endswith("NotExecutable"):
        return errors.error(errno.EACCES, program)
    if kind.endswith("NoDirectory"):
        return errors.error(errno.ENOENT, directory)
    if kind.endswith("TooLong"):
        return errors.error(errno.E2BIG, program)
    return OSError(errors.Number(errno.EIO), "failed to run `%s`: %s" % (program, getattr(error, "value", error)))


def system(command):
    """Runs a command in a shell, as `os.system`, and returns its status as `os.wait` does."""
    with Popen(command, shell=True) as running:
        status = running.wait()
    return -status if status < 0 else status << 8


def _with_timeout(function):
    """Returns a function of `subprocess` that tells the command its time limit, which it must know at its start."""

    @functools.wraps(function)
    def call(*arguments, timeout=None, **named):
        global _call_timeout
        before, _call_timeout = _call_timeout, timeout
        try:
            return function(*arguments, timeout=timeout, **named)
        finally:
            _call_timeout = before

    return call


def install():
    """Replaces `subprocess.Popen` and `os.system`."""
    subprocess.Popen = Popen
    subprocess.run, subprocess.call = _with_timeout(subprocess.run), _with_timeout(subprocess.call)
    os.system = system
