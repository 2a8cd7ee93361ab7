package nccl

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
)

// littleShm is what eight ranks surely fill that talk through it over two channels: the segment of each connection has
// 9637888 bytes, as NCCL's message says when it cannot make one; data loaders need theirs beside it. NVIDIA advises
// --shm-size=1g (NCCL user guide, Troubleshooting, Docker).
const littleShm = 256 << 20

// sharedMemory tells of a /dev/shm through which ranks of a node, and data loaders, cannot talk.
func (c *computation) sharedMemory() {
	size, known := c.s.Limits.ShmBytes.Get()
	if !known || size >= littleShm {
		return
	}
	c.say(check.Finding{
		Check: SharedMemory, Status: check.Warn, Subject: "pod",
		Summary: fmt.Sprintf("/dev/shm has %d MiB: NCCL between the GPUs of a node, and data loaders, may not find room in it "+
			`("No space left on device", "Bus error")`, size>>20),
		Evidence: []check.Evidence{{Source: "size of /dev/shm", Got: fmt.Sprintf("%d bytes", size), Want: "at least 1 GiB"}},
		Fix: &check.Fix{Text: "Mount a volume in memory there; what lies in it counts as the pod's memory.", Commands: []string{`spec:
  containers:
  - volumeMounts:
    - name: shm
      mountPath: /dev/shm
  volumes:
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: 8Gi`}, Who: check.User},
	})
}
