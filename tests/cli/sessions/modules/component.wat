;; The smallest component: it can be looked at, not run.
(component)
