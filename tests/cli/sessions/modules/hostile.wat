;; A module whose every text tries to act on the terminal: titles, colours, line ends, directions of writing.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\9a\01\00\00")
  (data (i32.const 16) "{\22changed\22: true, \22msg\22: \22fine\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\5cr\5cnok: forged\5cu009b1m\5cu2028\5cu202eend\22, \22stat\5cu001b[1mus\5cnok: forged\22: \22a key\22, \22diff\22: [{\22before\22: \22one\5cn\22, \22after\22: \22two\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\5cr\5cn\22, \22before_header\22: \22old\5cu202e\5cnnew\22}, {\22prepared\22: \22+ \5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\5cn\22}], \22warnings\22: [\22beware\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\5cnok: forged\22]}\0a")
  (func (export "_start") (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (@custom "modbox:module" "{\22name\22: \22nice\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\5cndigest:  sha256:forged\22, \22version\22: \221\e2\80\ae\22, \22description\22: [\22Does good.\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\e2\80\ae\22], \22argument_spec\22: {\22pa\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31mth\5cnoptions:\22: {\22type\22: \22path\22, \22access\22: \22write\22, \22description\22: \22Where\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m.\22}}, \22requests\22: {\22env\22: [\22LANG\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m\5cnrequests: none\22]}, \22examples\22: [\22modbox run\5cu001b]0;owned\5cu0007\5cu001b[2J\5cu001b[31m nice\22]}")
)
