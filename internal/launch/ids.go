// Package launch starts the training command: it lifts the locked-memory limit, builds the environment and execs.
package launch

import "github.com/railhead/railhead/internal/check"

// MemlockLimit is the check of how much memory a process may lock.
const MemlockLimit check.ID = "memlock-limit"
