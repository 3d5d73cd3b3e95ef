;; Takes all memory below its size for its own, after the first call of WASI, as allocators of old C libraries do.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (global $heap i32 (i32.const 1024))
  (data (i32.const 0) "{\"changed\": false}")
  (func (export "_start")
    (drop (call $args (i32.const 64) (i32.const 68)))
    (memory.fill
      (global.get $heap)
      (i32.const 255)
      (i32.sub (i32.mul (memory.size) (i32.const 65536)) (global.get $heap)))
    (i32.store (i32.const 72) (i32.const 0))
    (i32.store (i32.const 76) (i32.const 18))
    (drop (call $write (i32.const 1) (i32.const 72) (i32.const 1) (i32.const 80)))))
