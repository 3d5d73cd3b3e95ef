"""Scenarios of `command`. `ROOT` is the scenario's folder."""

PROMISED = ["rc", "stdout", "stderr", "cmd", "skipped"]


def sh(script, **options):
    return {"files": {}, "folders": ["f"], "path": None, "arguments": {"argv": ["sh", "-c", script], **options}}


def cmd(text, key="cmd", **options):
    return {"files": {"f": "hi\n"}, "path": None, "arguments": {key: text, **options}}


def there(path, files=("f",), **options):
    return {"files": {name: "x" for name in files}, "path": path, "arguments": {"cmd": "echo done", **options}}


SCENARIOS = [
    cmd("echo hello"),
    cmd("echo hello", key="_raw_params"),
    cmd("echo 'a  b' \"c\\\"d\" e\\ f ''"),
    cmd("echo a | cat > b; echo $UNSET ~nobody-at-all"),
    cmd("echo *"),
    cmd("/bin/echo by path"),
    cmd("echo hello", chdir="ROOT"),
    cmd("cat f", chdir="ROOT"),
    cmd("cat none", chdir="ROOT"),
    cmd("true", chdir="ROOT/none"),
    cmd("true", chdir="ROOT/f"),
    cmd("true"),
    cmd("false"),
    cmd("no-such-program a b"),
    cmd("/no/such/program --password secret"),
    cmd("/etc/passwd"),
    {**cmd("echo a"), "arguments": {}},
    {**cmd("echo a"), "arguments": {"cmd": "echo a", "argv": ["echo", "b"]}},
    cmd("echo a", unknown=1),
    cmd("echo a", stdin_add_newline="maybe"),
    cmd("echo a", executable="/bin/bash"),
    sh("exit 7"),
    sh("echo out; echo err >&2; exit 3"),
    sh("kill -9 $$"),
    sh("kill -TERM $$"),
    sh("printf 'a\\n\\r\\n\\n'"),
    sh("printf 'a\\n\\r\\n\\n'; printf '\\n' >&2", strip_empty_ends=False),
    sh("printf '\\303\\244x'"),
    sh("printf 'a\\tb\\001'"),
    sh("cat", stdin="given"),
    sh("cat", stdin="given", stdin_add_newline=False, strip_empty_ends=False),
    sh("cat; echo end", stdin=""),
    sh("echo \"$0\" \"$#\""),
    sh("echo more > 'ROOT/f/made'; cat 'ROOT/f/made'"),
    sh("pwd", chdir="ROOT/f"),
    sh("echo x > made; ls", chdir="ROOT/f"),
    sh("head -c 100000 /dev/zero | tr '\\0' x"),
    sh("echo now; (sleep 0.2; echo later) & wait"),
    there("creates"),
    there("creates", files=()),
    there("removes"),
    there("removes", files=()),
    there(None, creates="ROOT/*"),
    there(None, creates="ROOT/[a-f]"),
    there(None, creates="ROOT/?x"),
    there(None, creates="ROOT/f/"),
    there(None, removes="ROOT/x*"),
    there(None, files=(".f",), creates="ROOT/*"),
    there(None, creates="ROOT/none", removes="ROOT/f"),
    there(None, creates="ROOT/f", removes="ROOT/none"),
    {**sh("echo x"), "arguments": {"argv": []}},
    {**sh("echo x"), "arguments": {"argv": ["echo", 1, True, "$HOME_UNSET", "~"], "expand_argument_vars": False}},
    {**sh("echo x"), "arguments": {"argv": ["echo", "--", "-n", "a b", ""]}},
    {**sh("echo x"), "arguments": {"_raw_params": "echo a | tr a b; exit 2", "_uses_shell": True}},
]
