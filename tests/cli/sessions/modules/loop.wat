;; A module that never ends.
(module (memory (export "memory") 1) (func (export "_start") (loop $again (br $again))))
