#!/usr/bin/python
# WANT_JSON: the arguments are in the JSON file argv[1].
import json
import sys

with open(sys.argv[1]) as file:
    args = json.load(file)
result = {
    "changed": False,
    "greeting": "hello " + args["name"] + ("!" if args.get("loud") else ""),
    "n": int(args["n"]),
}
if args["_ansible_check_mode"]:
    result["check"] = True
print(json.dumps(result))
