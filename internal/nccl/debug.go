package nccl

import (
	"slices"
	"strings"
)

// subsystems are the words of NCCL_DEBUG_SUBSYS (NCCL src/debug.cc, 2.28.9; the last two of 2.31).
var subsystems = []string{
	"INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG",
	"PROFILE", "RAS", "ALL", "DESTROY", "ALLOC_HOST",
}

// LogsNothing reports whether NCCL logs nothing with a value of NCCL_DEBUG_SUBSYS, not even its warnings: words that it
// does not know select no part, and neither does an empty value.
func LogsNothing(subsys string) bool {
	subsys, invert := strings.CutPrefix(subsys, "^")
	words := strings.Split(strings.ToUpper(subsys), ",")
	if invert {
		return slices.Contains(words, "ALL")
	}
	return !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(subsystems, w) })
}
