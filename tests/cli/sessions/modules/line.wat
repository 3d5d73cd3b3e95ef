;; A module with metadata, whose one option names a path to write. It prints always the same result.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\c2\00\00\00")
  (data (i32.const 16) "{\"changed\": true, \"msg\": \"a line\\nand \\u001b[31mred\", \"count\": 3, \"list\": [1, null], \"diff\": {\"before\": \"one\\ntwo\\n\", \"after\": \"one\\n2\\n\", \"before_header\": \"/srv/motd\"}, \"warnings\": [\"beware\"]}\n")
  (func (export "_start") (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (@custom "modbox:module" "{\"name\": \"line\", \"version\": \"1.2.3\", \"description\": [\"Writes a line.\"], \"supports_check_mode\": true, \"argument_spec\": {\"path\": {\"type\": \"path\", \"access\": \"write\", \"required\": true, \"description\": \"Where.\"}, \"count\": {\"type\": \"int\", \"default\": 1, \"description\": \"How often.\"}}, \"requests\": {\"env\": [\"LANG\"]}, \"examples\": [\"modbox run line path=/srv/motd\"]}")
)
