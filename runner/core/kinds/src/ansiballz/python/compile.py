# Compiles every source below a folder for use in another folder, with pycs that are never compared with their sources
# again. For Python 3.7 and newer. Sources that cannot be compiled are skipped; importing them raises the error.
import os
import py_compile
import sys

staging, final = sys.argv[1:3]
sys.setrecursionlimit(5000)
unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
for folder, _, names in os.walk(staging):
    for name in names:
        if name.endswith('.py'):
            source = os.path.join(folder, name)
            shown = os.path.join(final, os.path.relpath(source, staging))
            try:
                py_compile.compile(source, dfile=shown, doraise=True, invalidation_mode=unchecked)
            except (py_compile.PyCompileError, RecursionError, ValueError, MemoryError):
                pass
