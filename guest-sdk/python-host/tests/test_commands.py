"""Commands, by the fake host, compared with CPython's `subprocess`."""

import errno
import functools
import io
import os
import select
import selectors
import subprocess
import tempfile
import types as python_types

from wit_world.imports import process

from modbox_python import commands, identity, pipes
from modbox_python.unsupported import Unsupported
from tests.granted import Granted

PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
SH = ["/bin/sh", "-c"]


def run(args, **named):
    """Runs a command with the replacement, as `subprocess.run` does."""
    timeout, text = named.pop("timeout", None), named.pop("input", None)
    if text is not None:
        named["stdin"] = PIPE
    with commands.Popen(args, **named) as command:
        out, err = command.communicate(text, timeout)
    return command.returncode, out, err


def run_natively(args, **named):
    done = subprocess.run(args, check=False, **named)
    return done.returncode, done.stdout, done.stderr


class Commands(Granted):
    def test_results_are_those_of_cpython(self):
        for args, named in [
            ([*SH, "echo a; echo b >&2; exit 3"], {"stdout": PIPE, "stderr": PIPE}),
            ([*SH, "kill -9 $$"], {}),
            ([*SH, "cat"], {"input": b"in\n", "stdout": PIPE}),
            ([*SH, "cat"], {"input": "t\u00e4xt\n", "stdout": PIPE, "text": True, "encoding": "utf-8"}),
            ("echo $0 a", {"shell": True, "stdout": PIPE}),
            ([*SH, "echo a; echo b >&2"], {"stdout": PIPE, "stderr": STDOUT}),
            ([*SH, "pwd"], {"stdout": PIPE, "cwd": self.root}),
            ([*SH, "umask"], {"stdout": PIPE, "preexec_fn": functools.partial(os.umask, 0o77)}),
        ]:
            expected = run_natively(args, **named)
            if "preexec_fn" in named:
                named["preexec_fn"] = functools.partial(identity.umask, 0o77)
            self.assertEqual(run(args, **named), expected, args)
        self.assertEqual(identity.current_umask(), 0o22)

    def test_output_goes_to_open_files(self):
        with tempfile.TemporaryFile() as file:
            run([*SH, "echo a; echo b >&2"], stdout=file, stderr=DEVNULL)
            file.seek(0)
            self.assertEqual(file.read(), b"a\n")

    def test_only_changed_variables_are_asked_for(self):
        run(["/bin/true"], env={**os.environ, "LC_ALL": "C"})
        self.assertEqual(process.ASKED[-1].environment, [("LC_ALL", "C")])
        run(["/bin/true"])
        self.assertEqual(process.ASKED[-1].environment, [])

    def test_a_command_starts_when_its_input_is_complete(self):
        command = commands.Popen([*SH, "cat"], stdin=PIPE, stdout=PIPE)
        self.assertIsNone(command.poll())
        command.stdin.write(b"one")
        self.assertEqual(process.ASKED, [])
        command.stdin.close()
        self.assertEqual((command.stdout.read(), command.wait(), command.poll()), (b"one", 0, 0))
        self.assertEqual(len(process.ASKED), 1)

    def test_a_command_that_cannot_start_is_an_error_at_once(self):
        for answer, kind, number in [
            (process.Error_NotFound(), FileNotFoundError, errno.ENOENT),
            (process.Error_Denied("--allow-run x"), FileNotFoundError, errno.ENOENT),
            (process.Error_NotExecutable(), PermissionError, errno.EACCES),
            (process.Error_NoDirectory(), FileNotFoundError, errno.ENOENT),
            (process.Error_TooLong(), OSError, errno.E2BIG),
            (process.Error_Failed("why"), OSError, errno.EIO),
        ]:
            process.ANSWER[:] = [answer]
            with self.assertRaises(kind) as raised:
                commands.Popen(["x"], stdout=PIPE)
            self.assertEqual(raised.exception.errno, number)

    def test_output_that_was_cut_is_an_error(self):
        cut, empty = process.Captured(b"x", 9), process.Captured(b"", 0)
        process.ANSWER[:] = [process.Output(process.Ending_Exited(0), cut, empty)]
        with self.assertRaisesRegex(commands.CommandError, "output of `x` is longer than .* 1 bytes.*--max-output"):
            commands.Popen(["x"], stdout=PIPE)

    def test_more_input_than_the_host_takes_is_not_sent(self):
        for length, is_sent in ((2 << 20, True), ((2 << 20) + 1, False)):
            del process.ASKED[:]
            command = commands.Popen(["cat"], stdin=PIPE, stdout=PIPE)
            try:
                out, _ = command.communicate(b"x" * length)
                self.assertTrue(is_sent and len(out) == length)
            except Unsupported as error:
                self.assertFalse(is_sent)
                self.assertIn("more than 2 MiB", str(error))
            self.assertEqual(len(process.ASKED), is_sent)

    def test_a_limit_of_the_run_is_an_error(self):
        empty = process.Captured(b"", 0)
        for ending in (process.Ending_Limit("memory"), process.Ending_TimedOut()):
            process.ANSWER[:] = [process.Output(ending, empty, empty)]
            self.assertRaises(commands.CommandError, commands.Popen, ["x"])

    def test_time_limits_reach_the_command(self):
        library = python_types.SimpleNamespace(run=lambda args, timeout=None: run(args, timeout=timeout))
        limited = commands._with_timeout(library.run)
        with self.assertRaises(subprocess.TimeoutExpired):
            limited([*SH, "sleep 5"], timeout=0.2)
        self.assertEqual(process.ASKED[-1].timeout, 200)
        late = commands.Popen([*SH, "sleep 0.3"])
        self.assertRaises(subprocess.TimeoutExpired, late.wait, timeout=0.1)
        self.assertEqual(late.wait(timeout=0.1), 0)

    def test_what_the_host_cannot_do_is_an_error(self):
        for named in ({"pass_fds": (3,)}, {"user": 1}, {"group": 1}):
            self.assertRaises(Unsupported, commands.Popen, ["x"], **named)


class Pipes(Granted):
    def test_pipes_are_ready_at_once(self):
        self.addCleanup(setattr, selectors.PollSelector, "_selector_cls", selectors.PollSelector._selector_cls)
        selectors.PollSelector._selector_cls = pipes.Poll
        command = commands.Popen([*SH, "echo a"], stdout=PIPE, stderr=PIPE)
        self.assertEqual(pipes.ready([command.stdout], [], [], 5), ([command.stdout], [], []))
        with selectors.PollSelector() as selector:
            selector.register(command.stdout, selectors.EVENT_READ)
            selector.register(command.stderr, selectors.EVENT_READ)
            found = [key.fileobj for key, _ in selector.select(1)]
            self.assertEqual(found, [command.stdout, command.stderr])
            selector.unregister(command.stderr)
        self.assertEqual(pipes.read(command.stdout.fileno(), 99), b"a\n")
        self.assertTrue(pipes.close(command.stdout.fileno()))
        self.assertFalse(pipes.close(0))

    def test_real_descriptors_are_waited_for(self):
        readable, writable = os.pipe()
        self.addCleanup(os.close, readable)
        self.addCleanup(os.close, writable)
        self.assertEqual(pipes.ready([readable], [], [], 0), ([], [], []))
        pipes.write(writable, b"x")
        self.assertEqual(pipes.ready([readable], [], [], 0), ([readable], [], []))
        poll = pipes.Poll()
        poll.register(readable, select.POLLIN)
        self.assertEqual(poll.poll(0), [(readable, select.POLLIN)])
        self.assertIsInstance(io.BufferedReader(pipes.OutputPipe(lambda: b"")), io.BufferedReader)
