"""Validates the question of a benchmark with ansible-core's validator, and prints microseconds: the median of many times."""

import copy
import json
import statistics
import sys
import time

from ansible.module_utils.basic import env_fallback
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator


def with_functions(spec):
    for option in spec.values():
        if "fallback" in option:
            option["fallback"] = (env_fallback, option["fallback"][1])
        with_functions(option.get("options", {}))
    return spec


question = json.load(open(sys.argv[1], encoding="utf-8"))
validator = ArgumentSpecValidator(with_functions(question["spec"]), **question["kw"])
times = []
for _ in range(500):
    params = copy.deepcopy(question["params"])
    started = time.perf_counter()
    result = validator.validate(params)
    times.append(time.perf_counter() - started)
assert not result.error_messages, result.error_messages
print(statistics.median(times) * 1e6)
