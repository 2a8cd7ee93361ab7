package wire

import (
	"slices"

	"github.com/railhead/railhead/internal/check"
)

// Uneven is a rail that carries less than half of what each of the machine's other rails carries, in bytes per second.
type Uneven struct {
	Rail   check.Ref `json:"rail"`
	Rate   float64   `json:"rate"`
	Others float64   `json:"others"` // the least of the other rails
}

// idleRails returns the rails without a queue pair, where most machines of the job have as many rails and processes and
// use all their rails. Between two machines it is not certain that they do the same.
func idleRails(members []Member) (idle []check.Ref) {
	type size struct{ rails, processes int }
	complete := map[size]int{}
	of := func(m Member) size { return size{len(m.Rails), m.processes()} }
	for _, m := range members {
		if m.Proof == RDMA && len(m.Unused) == 0 {
			complete[of(m)]++
		}
	}
	for _, m := range members {
		if m.Proof != RDMA || 2*complete[of(m)] <= len(members) {
			continue
		}
		for _, device := range m.Unused {
			if !slices.ContainsFunc(m.Usages, func(u Usage) bool { return u.Device == device }) {
				idle = append(idle, check.DeviceRef(device).On(m.Ref))
			}
		}
	}
	return idle
}

// processes counts the processes with connected queue pairs.
func (m Motion) processes() int {
	all := map[int]bool{}
	for _, u := range m.Usages {
		if u.Pairs > 0 {
			all[u.PID] = true
		}
	}
	return len(all)
}

// uneven returns the rails of a machine that carry far less than its others.
func (m Member) uneven() (all []Uneven) {
	rates := map[string]float64{}
	for _, u := range m.Usages {
		if u.Sent.AtLeast || u.Got.AtLeast {
			return nil
		}
		rates[u.Device] += u.Sent.Rate + u.Got.Rate
	}
	for _, device := range m.Rails {
		least := 0.0
		for _, other := range m.Rails {
			if rate := rates[other]; other != device && rate > 0 && (least == 0 || rate < least) {
				least = rate
			}
		}
		notCounted := func(e End) bool { return e.Device == device && e.isNew() }
		if rate := rates[device]; rate > 0 && 2*rate < least && !slices.ContainsFunc(m.ends, notCounted) {
			all = append(all, Uneven{check.DeviceRef(device).On(m.Ref), rate, least})
		}
	}
	return all
}

// overTCP returns the interface over which the machines of a whole job exchange their data, though they have rails.
// They receive as much as they send, unlike in a download: half as much more is for readings at different times.
func (j *Job) overTCP() *LinkRate {
	railed := 0
	for _, m := range j.Members {
		if m.nodeNetwork {
			return nil
		}
		if len(m.Rails) > 0 {
			railed++
		}
	}
	if j.Proof != NoConnection || railed < 2 {
		return nil
	}
	const each = 50e6 // less may be the control traffic of a job, or a slow data set
	for _, l := range j.Links {
		if least := min(l.Sent, l.Received); least >= each*float64(railed) && max(l.Sent, l.Received) <= 1.5*least {
			return &l
		}
	}
	return nil
}
