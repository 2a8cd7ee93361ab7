package plan

import "github.com/railhead/railhead/internal/check"

// IDs of the findings that more than one kind of plan makes.
const (
	JobRequest     check.ID = "job-request"
	NameFree       check.ID = "name-free"
	NamespaceReady check.ID = "namespace-ready"
	SCCUsable      check.ID = "scc-usable"
)
