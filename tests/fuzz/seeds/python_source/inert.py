"""Words."""
from __future__ import (absolute_import, division)
__metaclass__ = type
FILE_COMMON_ARGUMENTS = dict(mode=dict(type="raw"), owner=dict(type="str"))
