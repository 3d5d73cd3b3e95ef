"""`resource` for the sandbox: the names of limits. The limits of a run are the host's, and cannot be read or set."""

from modbox_python.unsupported import refuse

(RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE,
 RLIMIT_MEMLOCK, RLIMIT_AS) = range(10)
RLIM_INFINITY = -1
RUSAGE_SELF, RUSAGE_CHILDREN = 0, -1
error = OSError

getrlimit = refuse("resource.getrlimit")
setrlimit = refuse("resource.setrlimit")
getrusage = refuse("resource.getrusage")
getpagesize = refuse("resource.getpagesize")
