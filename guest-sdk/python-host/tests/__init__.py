"""Unit tests of the sandbox's part of Python, for any Python: `python3 -m unittest discover -s tests -t .`

`fakes` stands in for the host, on the files and commands of this machine. What needs the interpreter itself is tested
by running modules in it.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(_HERE, "fakes"), os.path.dirname(_HERE)]
sys.dont_write_bytecode = True
