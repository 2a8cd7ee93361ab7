package nccl

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
)

// littleShm is certainly too small for eight ranks with two channels: the segment of each connection has 9637888 bytes
// (NCCL's own message when it cannot create one), and data loaders need more. NVIDIA advises --shm-size=1g (NCCL user
// guide, Troubleshooting, Docker).
const littleShm = 256 << 20

// sharedMemory reports a /dev/shm that is too small for the ranks of a node and data loaders.
func (c *computation) sharedMemory() {
	size, known := c.s.Limits.ShmBytes.Get()
	if !known || size >= littleShm {
		return
	}
	c.say(check.Finding{
		Check: SharedMemory, Status: check.Warn, Subject: check.Ref{Kind: check.Pod},
		Summary: fmt.Sprintf("/dev/shm has %d MiB: NCCL between the GPUs of a node, and data loaders, may run out of "+
			`space ("No space left on device", "Bus error")`, size>>20),
		Evidence: []check.Evidence{
			{Source: "size of /dev/shm", Got: fmt.Sprintf("%d bytes", size), Want: "at least 1 GiB"},
		},
		Fix: check.ByUser("Mount an in-memory volume there. Its content counts as the pod's memory.", `spec:
  containers:
  - volumeMounts:
    - name: shm
      mountPath: /dev/shm
  volumes:
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: 8Gi`),
	})
}
