#!/usr/bin/python
# The arguments are written into this file. What follows the r is JSON as it is; only ''' in it would end the text.
import json

args = json.loads(r'''<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>''')
result = {
    "changed": False,
    "greeting": "hello " + args["name"] + ("!" if args.get("loud") else ""),
    "n": int(args["n"]),
}
if args["_ansible_check_mode"]:
    result["check"] = True
print(json.dumps(result))
