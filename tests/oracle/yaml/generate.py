"""Makes texts by chance: scalars, small documents, arguments as one text, and damaged copies of other texts."""

PIECES = (
    list("0123456789_.:-+eExXbBoO ~=<>yYnNtTfF'\"[]{},?&*!|#%@`\\/\t") + ["\n", "\n  ", "\n- ", ": ", "- ", " #", "yes", "no", "null", "true", "off", "0x", "0b", "0o", "2001-01-01", "T1:02:03", ".inf", ".nan", "<<", "!!str ", "!!int ", "!!float "]
    + ["!unsafe ", "!vault ", "&a ", "*a", "{{ ", " }}", "{% ", "\r\n", "\u00e9", "\u2028", "\x85", "\ufeff", "---", "...", "'a'", "\"b\"", "a", "b", "\\n", "\\x41", "\\u00", "|\n", ">\n", "|-", "? "]
)
NUMERIC = list("0123456789_.:-+eExXbBaf") + ["0x", "0b", "0o", ":30", ".5", "e+3", "2001-01-01", "-1-1", " 1:02:03", "T01:02:03", "Z", "-05:00"]
ARGUMENT_PIECES = list("ab=\\'\" \n{}%#\t") + ["{{ ", " }}", "{% ", " %}", "{# ", " #}", "a=", "chdir=", " b=", "\\n", "\\x41", "\\=", "  ", " \\\n", "'c d'", "\"e f\"", "|", ">"]


def text_of(numbers, pieces, most):
    return "".join(numbers.choice(pieces) for _ in range(numbers.randint(1, most)))


def scalar(numbers):
    pieces, most = numbers.choice([(PIECES, 6), (NUMERIC, 5), (NUMERIC, 9), (PIECES, 3)])
    return text_of(numbers, pieces, most)


def inline(numbers, depth):
    """A value on one line."""
    kind = numbers.randint(0, 9) if depth else 0
    if kind == 8:
        return "[" + ", ".join(inline(numbers, depth - 1) for _ in range(numbers.randint(0, 3))) + "]"
    if kind == 9:
        return "{" + ", ".join(f"{word(numbers)}: {inline(numbers, depth - 1)}" for _ in range(numbers.randint(0, 3))) + "}"
    return numbers.choice([scalar, word, quoted])(numbers)


def word(numbers):
    return numbers.choice(["a", "b", "c", "yes", "1", "1.0", "~", "<<", "=", "name", "'x y'", "2001-01-01"])


def quoted(numbers):
    text = scalar(numbers)
    return "'" + text.replace("'", "''") + "'" if numbers.random() < 0.5 else '"' + text.replace('"', '\\"') + '"'


def block(numbers, indent, depth):
    """A document in block style, most of which are right."""
    if depth == 0 or numbers.random() < 0.2:
        return " " + decoration(numbers) + inline(numbers, 2) + "\n"
    lines, is_list, pad = [], numbers.random() < 0.4, " " * indent
    for _ in range(numbers.randint(1, 4)):
        start = pad + ("-" if is_list else word(numbers) + ":")
        step = numbers.choice([1, 2, 2, 2, 4])
        below = block(numbers, indent + step, depth - 1)
        lines.append(start + (below if below.startswith(" ") and "\n" in below[:-1] is False else joined(below)))
        if numbers.random() < 0.1:
            lines.append(pad * numbers.randint(0, 1) + "# comment\n")
    return "".join(lines)


def joined(below):
    """Puts a nested block on lines of its own, and a scalar on the same line."""
    return below if below.count("\n") == 1 and below.startswith(" ") and not below.lstrip().startswith("- ") else "\n" + below


def decoration(numbers):
    return numbers.choice([""] * 12 + ["!!str ", "!!int ", "!unsafe ", "&a ", "&b ", "!!float ", "!!set ", "!!null "])


def texts(numbers, count):
    for index in range(count):
        kind = index % 4
        if kind == 0:
            yield scalar(numbers)
        elif kind == 1:
            yield numbers.choice(["- %s\n", "a: %s\n", "[%s]", "%s: 1\n", "{a: %s}"]).replace("%s", scalar(numbers))
        elif kind == 2:
            yield inline(numbers, 3)
        else:
            yield numbers.choice(["", "", "---\n", "%YAML 1.1\n---\n"]) + block(numbers, 0, 3).lstrip(" ")


def arguments(numbers, count):
    for _ in range(count):
        yield text_of(numbers, ARGUMENT_PIECES, 12)


def damages(numbers, originals, count):
    """Damages copies: a piece is inserted, some characters or a line are removed, a line is indented or repeated."""
    for _ in range(count):
        text = numbers.choice(originals)
        for _ in range(numbers.randint(1, 3)):
            text = damaged(numbers, text)
        yield text


def damaged(numbers, text):
    at, kind = numbers.randint(0, len(text)), numbers.randint(0, 4)
    if kind == 0:
        return text[:at] + numbers.choice(PIECES) + text[at:]
    if kind == 1:
        return text[:at] + text[at + numbers.randint(1, 4):]
    lines = text.splitlines(keepends=True) or [""]
    number = numbers.randrange(len(lines))
    lines[number] = {2: "", 3: " " * numbers.randint(1, 3) + lines[number], 4: lines[number] * 2}[kind]
    return "".join(lines)
