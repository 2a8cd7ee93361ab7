package process

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePorts returns ports that are free now, for programs that cannot share one. They lie below the range from which
// the kernel takes the ports of outgoing connections (net.ipv4.ip_local_port_range, by default from 32768 on): one of
// those would be taken again before the program listens on it.
func FreePorts(n int) ([]int, error) {
	const lowest, highest = 20000, 32767
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	var ports []int
	for range 100 {
		port := lowest + rand.IntN(highest-lowest+1)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // somebody listens there
		}
		held, ports = append(held, l), append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports from %d to %d: found %d", n, lowest, highest, len(ports))
}
