"""The known differences between modbox's components and ansible-core's modules: `tests/twin/modules.tsv`.

A row has a verdict (`fault`: modbox is wrong and will be mended; `differs`: it is so on purpose), a module or `*`, a form of grants or
`*`, a feature of the case or `*`, a regular expression that the start of a difference matches, the reason, and the page that says it.
"""

import re

VERDICTS = "fault", "differs"
FORMS = "*", "folder", "arguments", "observed", "components", "sandbox", "native"
COLUMNS = "verdict", "module", "form", "feature", "difference", "reason", "page"
# What no row but a fault may allow.
GRAVE = "outcome: only ansible-core fails", "outcome: only the plain run fails", "tree"


class Table:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file]
        self.rows = []
        for number, line in enumerate(lines, 1):
            if line and not line.startswith("#"):
                fields = line.split("\t")
                if len(fields) != len(COLUMNS):
                    raise SystemExit(f"{path}:{number}: {len(fields)} columns, expected {len(COLUMNS)}")
                row = dict(zip(COLUMNS, fields))
                if row["verdict"] not in VERDICTS or row["form"] not in FORMS or not row["reason"] or not row["page"]:
                    raise SystemExit(f"{path}:{number}: unknown verdict or form, or no reason or page")
                self.rows.append({**row, "pattern": re.compile(row["difference"], re.DOTALL), "line": number, "used": 0})

    def knows(self, case, features, form, difference):
        """Whether a row matches a difference; counts that."""
        for row in self.rows:
            fits = row["module"] in ("*", case["task"]["module"]) and row["form"] in ("*", form)
            fits = fits and (row["feature"] == "*" or row["feature"] in features) and row["pattern"].match(difference)
            if fits and (row["verdict"] == "fault" or not difference.startswith(GRAVE)):
                row["used"] += 1
                return True
        return False
