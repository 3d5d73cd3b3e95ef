"""The replacements in `os`, in a process of their own."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = """
import os, stat, sys
from modbox_python import host, system
from wit_world.imports import preopens
system.install()
# Imported later, as in the interpreter: they ask `os` for what it has.
import shutil, tempfile
root = os.path.realpath(tempfile.mkdtemp())
assert isinstance(os.stat(root), os.stat_result) and not host.is_live()
open(root + "/a", "w").close()
preopens.GRANTED[:] = [root]
facts = {"uid": 0, "gid": 0, "groups": [], "node": "n", "system": "Linux", "release": "1", "version": "2"}
system.renew({**facts, "machine": "m"})
assert os.uname().nodename == "n" and sys.platform == "linux"
called = []
system.install_for_modules()
assert os.register_at_fork(before=lambda: called.append("before"), after_in_parent=lambda: called.append("after")) is None
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
assert called == [], "nothing forks in the sandbox, so nothing is called"
os.makedirs(root + "/d/e", mode=0o700)
with open(root + "/d/e/f", "w") as file:
    file.write("x")
    os.fchmod(file.fileno(), 0o640)
os.symlink(root + "/d", root + "/l")
shutil.copytree(root + "/l", root + "/c")
assert stat.S_IMODE(os.stat(root + "/c/e/f").st_mode) == 0o640
assert stat.S_IMODE(os.stat(root + "/c/e").st_mode) == stat.S_IMODE(os.lstat(root + "/d/e").st_mode)
assert sorted(os.listdir(root)) == ["a", "c", "d", "l"]
assert [names for _, names, _ in os.walk(root + "/c")] == [["e"], []]
assert os.path.realpath(root + "/l/e") == root + "/d/e"
with tempfile.NamedTemporaryFile(dir=root) as file:
    assert stat.S_IMODE(os.stat(file.name).st_mode) == 0o600
shutil.rmtree(root)
assert not os.path.exists(root)
os.mkdir(root)
# The path leads through a folder that is removed with the rest, so that it is missing when its own turn comes.
os.makedirs(root + "/d/hidden")
os.makedirs(root + "/d/z/deep")
open(root + "/d/a", "w").close()
os.symlink("/", root + "/d/l")
failures = []
shutil.rmtree(root + "/d/hidden/..", onerror=lambda call, path, raised: failures.append((call, path, raised[1].errno)))
assert failures == [(os.rmdir, root + "/d/hidden/..", 2)] and os.listdir(root + "/d") == [], failures
os.symlink("d", root + "/l")
for path, wanted in ("l", "Cannot call rmtree on a symbolic link"), ("missing", 2), ("file", 20):
    open(root + "/file", "w").close()
    try:
        shutil.rmtree(os.path.join(root, path))
    except OSError as error:
        assert wanted in (error.errno, error.args[0]) and error.filename in (None, os.path.join(root, path)), error
    else:
        raise AssertionError(path)
shutil.rmtree(os.fsencode(root))
assert not os.path.exists(root)
for call in (lambda: os.kill(1, 0), os.getloadavg, os.setsid, lambda: os.open("a", os.O_RDONLY, dir_fd=3)):
    try:
        call()
    except (OSError, NotImplementedError):
        continue
    raise AssertionError(call)
print("done")
"""


class System(unittest.TestCase):
    def test_the_library_works_on_the_replacements(self):
        # `os` of this machine has functions that WASI lacks; the replacements must not need them.
        lacking = "import os\nfor name in ('kill', 'getloadavg', 'setsid'):\n    delattr(os, name)\n"
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.join(HERE, "fakes"), os.path.dirname(HERE)])}
        program = lacking + PROGRAM
        done = subprocess.run([sys.executable, "-B", "-c", program], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)
        self.assertEqual((done.stdout, done.returncode), ("done\n", 0), done.stderr)
