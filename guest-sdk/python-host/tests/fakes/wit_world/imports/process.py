"""`modbox:host/process`, by real commands."""

import collections
import os
import subprocess

from wit_world import Err

Command = collections.namedtuple("Command", "program arguments environment directory input umask timeout")
Output = collections.namedtuple("Output", "ending stdout stderr")
Captured = collections.namedtuple("Captured", "bytes length")
Ending_Exited = collections.namedtuple("Ending_Exited", "value")
Ending_Signalled = collections.namedtuple("Ending_Signalled", "value")
Ending_TimedOut = collections.namedtuple("Ending_TimedOut", "")
Ending_Limit = collections.namedtuple("Ending_Limit", "value")
Error_Denied = collections.namedtuple("Error_Denied", "value")
Error_NotFound = collections.namedtuple("Error_NotFound", "")
Error_NotExecutable = collections.namedtuple("Error_NotExecutable", "")
Error_NoDirectory = collections.namedtuple("Error_NoDirectory", "")
Error_TooLong = collections.namedtuple("Error_TooLong", "")
Error_Failed = collections.namedtuple("Error_Failed", "value")

# This module is imported before any test replaces it.
_Popen = subprocess.Popen

# The commands that were asked for, and an answer to give instead of running one.
ASKED, ANSWER = [], []


def run(command):
    """Runs a command."""
    ASKED.append(command)
    if ANSWER:
        answer = ANSWER.pop()
        if "Error" in type(answer).__name__:
            raise Err(answer)
        return answer
    env = {"PATH": os.defpath, **dict(command.environment)}
    try:
        ran = _Popen([command.program, *command.arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, env=env, cwd=command.directory,
                     umask=-1 if command.umask is None else command.umask)
    except FileNotFoundError:
        raise Err(Error_NotFound()) from None
    try:
        out, err = ran.communicate(command.input, None if command.timeout is None else command.timeout / 1000)
    except subprocess.TimeoutExpired:
        ran.kill()
        ran.communicate()
        return Output(Ending_TimedOut(), Captured(b"", 0), Captured(b"", 0))
    ending = Ending_Exited(ran.returncode) if ran.returncode >= 0 else Ending_Signalled(-ran.returncode)
    return Output(ending, Captured(out, len(out)), Captured(err, len(err)))
