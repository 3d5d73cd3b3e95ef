"""The stand-ins, compared with the modules that they stand in for."""

import importlib.util
import os
import sys
import unittest

from wit_world.imports import system_log

from modbox_python import host
from tests.granted import Granted

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "standins")


def stand_in(name):
    """Imports a stand-in under another name than the module's."""
    spec = importlib.util.spec_from_file_location("standin_" + name, os.path.join(HERE, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Names(unittest.TestCase):
    def test_numbers_are_those_of_linux(self):
        for name in ("fcntl", "syslog", "termios", "resource", "mmap"):
            real, ours = importlib.import_module(name), stand_in(name)
            for constant in (each for each in vars(ours) if each.isupper() and isinstance(getattr(ours, each), int)):
                # Modules of older interpreters lack some names.
                if hasattr(real, constant):
                    self.assertEqual(getattr(ours, constant), getattr(real, constant), (name, constant))


class Accounts(Granted):
    def test_users_and_groups_are_those_of_the_lists(self):
        import grp
        import pwd
        ours = stand_in("pwd"), stand_in("grp")
        listed = [user for user in pwd.getpwall() if user in [tuple(each) for each in ours[0].getpwall()]]
        self.assertTrue(listed)
        for user in listed:
            self.assertEqual(tuple(ours[0].getpwnam(user.pw_name)), tuple(user))
        self.assertEqual(tuple(ours[1].getgrgid(0)), tuple(grp.getgrgid(0)))
        for call in (lambda: ours[0].getpwnam("no such"), lambda: ours[0].getpwuid(2 ** 31 - 3),
                     lambda: ours[1].getgrnam("no such"), lambda: ours[1].getgrgid(2 ** 31 - 3)):
            self.assertRaises(KeyError, call)


class Locks(unittest.TestCase):
    def test_a_lock_that_would_be_none_is_an_error(self):
        ours = stand_in("fcntl")
        self.assertRaises(OSError, ours.flock, 0, ours.LOCK_EX)
        self.assertRaises(OSError, ours.lockf, 0, ours.LOCK_SH | ours.LOCK_NB)
        ours.flock(0, ours.LOCK_UN)


class Syslog(Granted):
    def setUp(self):
        super().setUp()
        del system_log.MESSAGES[:]
        self.ours = stand_in("syslog")

    def test_messages_have_the_priority_and_the_tag_that_the_module_gave(self):
        ours = self.ours
        ours.openlog("ansible-ping", 0, ours.LOG_LOCAL0)
        ours.syslog(ours.LOG_INFO, "Invoked")
        ours.syslog("plain")
        ours.syslog(ours.LOG_AUTH | ours.LOG_ERR, "own facility")
        ours.closelog()
        ours.syslog(ours.LOG_ERR, "after")
        program = os.path.basename(sys.argv[0])
        self.assertEqual(system_log.MESSAGES, [
            (128 + 6, "ansible-ping", "Invoked"), (128 + 6, "ansible-ping", "plain"),
            (32 + 3, "ansible-ping", "own facility"), (8 + 3, program, "after")])

    def test_a_long_message_is_cut_before_it_is_handed_over(self):
        self.ours.openlog("t" * 100_000)
        self.ours.syslog("m" * 10_000_000)
        self.assertEqual([(len(tag), len(text)) for _, tag, text in system_log.MESSAGES], [(8192, 8192)])

    def test_the_mask_leaves_messages_out(self):
        ours = self.ours
        self.assertEqual((ours.setlogmask(ours.LOG_UPTO(ours.LOG_ERR)), ours.setlogmask(0)), (0xFF, 0x0F))
        ours.syslog(ours.LOG_INFO, "left out")
        ours.syslog(ours.LOG_ERR, "sent")
        self.assertEqual([text for _, _, text in system_log.MESSAGES], ["sent"])

    def test_what_is_no_text_is_an_error_as_in_syslog(self):
        import syslog
        for arguments in ((1, 2), (None,), ("a", "b"), (b"a",)):
            self.assertRaises(TypeError, syslog.syslog, *arguments)
            self.assertRaises(TypeError, self.ours.syslog, *arguments)

    def test_nothing_is_sent_while_the_interpreter_is_built(self):
        host._LIVE = False
        self.ours.syslog("built")
        self.assertEqual(system_log.MESSAGES, [])


class Ctypes(unittest.TestCase):
    def test_numbers_are_cut_like_those_of_ctypes(self):
        import ctypes
        import sys
        util = sys.modules.get("ctypes.util")
        ours = stand_in("ctypes")
        if util is not None:
            sys.modules["ctypes.util"] = util
        for name in ("c_int8", "c_uint8", "c_int32", "c_uint32", "c_int64", "c_uint64"):
            for value in (0, 1, -1, 127, 128, 255, 256, 2 ** 31, 2 ** 32 + 5, -2 ** 63, 2 ** 64 - 1):
                self.assertEqual(getattr(ours, name)(value).value, getattr(ctypes, name)(value).value)
            self.assertEqual(ours.sizeof(getattr(ours, name)), ctypes.sizeof(getattr(ctypes, name)))

    def test_libraries_are_not_there(self):
        ours = stand_in("ctypes")
        self.assertRaises(OSError, ours.CDLL, "libselinux.so.1", use_errno=True)
        self.assertRaises(OSError, ours.cdll.LoadLibrary, "libc.so.6")
        self.assertRaises(AttributeError, getattr, ours.CDLL(None), "getspnam")
