"""Makes a case smaller, as long as it still fails."""

import copy


def smaller(case):
    """Cases with one thing less."""
    for number in reversed(range(len(case["tree"]))):
        entry = case["tree"][number]
        rest = case["tree"][:number] + case["tree"][number + 1:]
        if not any(other["path"].startswith(entry["path"] + "/") or other.get("to") == entry["path"] and other["kind"] == "hard" for other in rest):
            yield {**case, "tree": rest}
    for number, entry in enumerate(case["tree"]):
        for key in ("mode", "time"):
            if key in entry:
                one = copy.deepcopy(case)
                del one["tree"][number][key]
                yield one
        if entry.get("bytes") and len(entry["bytes"]) > 2:
            one = copy.deepcopy(case)
            one["tree"][number]["bytes"] = "a\n"
            yield one
    for key in case["task"]["arguments"]:
        one = copy.deepcopy(case)
        del one["task"]["arguments"][key]
        yield one
    for key in ("check", "diff"):
        if case["task"][key]:
            yield {**case, "task": {**case["task"], key: False}}


def shrink(case, fails, tries=150):
    """The smallest case that is found within a number of tries."""
    while True:
        for one in smaller(case):
            tries -= 1
            if tries < 0:
                return case
            if fails(one):
                case = one
                break
        else:
            return case
