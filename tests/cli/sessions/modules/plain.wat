;; A module without metadata that prints nothing.
(module (memory (export "memory") 1) (func (export "_start")))
