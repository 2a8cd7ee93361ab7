package check

import "time"

// Obstacle keeps a pod, or anything else that is waited for, from making progress.
type Obstacle struct {
	Finding
	// Patience is the time that it may last, because Kubernetes retries. 0: it is permanent.
	Patience time.Duration
}
