"""`AnsibleModule.atomic_move`: what belongs to the place of a replaced file stays, or a warning says that it does not.

Ansible gives the new file the owner and the mode of the old one and then renames it. In the sandbox only root's grants give a
file away, and set-id bits; without them Ansible would go on and leave the file with the mode of a
temporary one. Here Ansible's own function runs, and its renaming is the host's `replace`, which keeps owner, mode, access
list and attributes of users without a grant, since the module could have written the old file, too.
"""

import contextlib
import errno
import functools
import stat as bits

from modbox_python import attributes, changes, errors, host, open_files, paths

# What `replace` may have lost, in the order of the warnings.
_WORDS = {
    "OWNER": "the owner", "SET_ID": "the set-user-id and set-group-id bits",
    "ATTRIBUTES": "the access list and the extended attributes",
}

_rename, _chown, _chmod = changes.rename, changes.chown, changes.chmod

_SET_ID = 0o6000

_replacement = None


class _Replacement:
    """The replacement of a file that is under way."""

    def __init__(self, name, is_file):
        self.name, self.is_file, self.lost = name, is_file, set()

    def rename(self, src, dst):
        """Moves a file to the place."""
        old = paths.absolute(src)
        base, rest = paths.place(old)
        try:
            lost = host.file_changes.replace(base, rest, *paths.place(self.name))
        except host.Err as refused:
            raised = errors.from_host(refused.value)
            raise errors.error(raised.errno, src, dst) from None
        self.lost.update(name for name in _WORDS if host.file_changes.Lost[name] & lost)
        open_files.renamed(old, self.name)

    def chown(self, path, uid, gid):
        """Gives the new file its owner, which `replace` does for a file."""
        if self.is_file:
            return
        try:
            _chown(path, uid, gid)
        except OSError as raised:
            if raised.errno != errno.EPERM:
                raise
            self.lost.add("OWNER")


    def chmod(self, path, mode, **named):
        """Gives the new file the mode of the old one as far as it may have it. `replace` gives a file its set-id bits."""
        if mode & _SET_ID and not self.is_file:
            self.lost.add("SET_ID")
        _chmod(path, mode & ~_SET_ID, **named)


def rename(src, dst, **named):
    """Renames a file or directory, as `os.rename`."""
    if _replacement is not None and paths.absolute(dst) == _replacement.name:
        return _replacement.rename(src, dst)
    return _rename(src, dst, **named)


def chown(path, uid, gid, **named):
    """Sets the owner and the group of a path, as `os.chown`."""
    if _replacement is not None:
        return _replacement.chown(path, uid, gid)
    return _chown(path, uid, gid, **named)


def chmod(path, mode, **named):
    """Sets the permissions of a path, as `os.chmod`."""
    if _replacement is not None:
        return _replacement.chmod(path, mode, **named)
    return _chmod(path, mode, **named)


@contextlib.contextmanager
def _replacing(dest):
    """Replaces a file within the block. The value is what was lost, or `None` if no file is there."""
    global _replacement
    try:
        name = paths.absolute(dest)
        found = attributes.look(name, False)
    except (OSError, ValueError):
        # Ansible's function raises its own error.
        yield None
        return
    kind = attributes.kind(found)
    if kind not in (bits.S_IFREG, bits.S_IFLNK):
        yield None
        return
    _replacement = _Replacement(name, kind == bits.S_IFREG)
    try:
        yield _replacement
    finally:
        _replacement = None


def install(module_class):
    """Replaces `atomic_move` of `AnsibleModule`."""
    original = module_class.atomic_move

    @functools.wraps(original)
    def atomic_move(self, src, dest, unsafe_writes=False, keep_dest_attrs=True):
        if not keep_dest_attrs:
            return original(self, src, dest, unsafe_writes, keep_dest_attrs=False)
        with _replacing(dest) as replaced:
            result = original(self, src, dest, unsafe_writes)
        for name, words in _WORDS.items():
            if replaced is not None and name in replaced.lost:
                self.warn("%s of `%s` could not be kept when its contents were replaced" % (words, dest))
        return result

    module_class.atomic_move = atomic_move
