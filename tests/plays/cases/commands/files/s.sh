#!/bin/sh
echo "script $*"; echo err >&2
test "$1" != fail
