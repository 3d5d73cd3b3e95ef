;; A module that crashes.
(module (memory (export "memory") 1) (func (export "_start") (unreachable)))
