"""The part of modbox that runs inside the sandboxed Python interpreter.

It makes CPython for WASI look like CPython on Linux to unmodified modules of Ansible: files by `files`, commands by
`commands`, imports by `store`. `start` runs one module. The package has no code of Ansible and knows no module of it.
"""
