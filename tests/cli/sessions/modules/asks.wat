;; A module with requests, of which one is required, a default that is a path, and paths inside other options.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\12\00\00\00")
  (data (i32.const 16) "{\"changed\": false}")
  (func (export "_start") (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (@custom "modbox:module" "{\"name\": \"asks\", \"version\": \"1.0.0\", \"argument_spec\": {\"log\": {\"type\": \"path\", \"access\": \"write\", \"default\": \"/srv/asks.log\"}, \"files\": {\"type\": \"list\", \"elements\": \"dict\", \"options\": {\"src\": {\"type\": \"path\", \"access\": \"read\"}}}}, \"requests\": [{\"capability\": \"env\", \"subject\": \"ASKED\", \"required\": true, \"reason\": \"says what to do\"}, {\"capability\": \"read\", \"subject\": \"/usr/share/zoneinfo\", \"reason\": \"time zones\"}]}")
)
