package podcli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/podrun"
)

// nextRankPort is the port of the first rail; each rail has its own.
const nextRankPort = 18615

// toNextRank tests the rails without loopback against the pod of the next rank, which does the same: a card whose
// switch sends everything outside (VEPA) has no loopback. Rails that failed before they sent anything would fail again.
func (r railTest) toNextRank(
	paths []nccl.Path, loops []podrun.Trial, found []check.Finding, say func(line string),
) {
	peer := nextRank(os.Getenv)
	var trials []podrun.Trial
	var rails []int
	for i, p := range paths {
		// perftest prints this once its queue pairs are connected.
		sent := loops[i].Hung || strings.Contains(loops[i].Text, "#bytes")
		if found[i].Status == check.Fail && sent && peer != "" {
			rails = append(rails, i)
			trials = append(trials, podrun.Trial{Words: loopbackOptions(p), Peer: peer, Port: nextRankPort + i})
		}
	}
	if len(trials) == 0 {
		return
	}
	say(fmt.Sprintf("preflight: %d of %d rails have no loopback; testing them with %s, at most %s",
		len(trials), len(paths), peer, r.limit))
	if r.try(loopbackTool, trials, os.Environ(), r.limit) != nil {
		return // the tool was there before
	}
	for n, i := range rails {
		status, text := r.transferred(paths[i], &trials[n])
		if status == check.Pass {
			found[i].Status, found[i].Summary = status, fmt.Sprintf("no loopback; to %s %s", peer, text)
		} else {
			found[i].Summary += "; to " + peer + ": " + text
		}
	}
}

// nextRank returns the host of the next rank's pod if pods are named as StatefulSets and JobSets name them: alike
// except for a number, with MASTER_ADDR the first, with its domain. Otherwise, and if there is one rank, it returns "".
func nextRank(getenv func(string) string) string {
	first, domain, ok := strings.Cut(getenv("MASTER_ADDR"), ".")
	name, first0 := strings.CutSuffix(first, "-0")
	rank := getenv("NODE_RANK")
	number, err := strconv.Atoi(rank)
	ranks, _ := strconv.Atoi(getenv("NNODES")) // 0 if it is not set
	if err != nil || !ok || !first0 || getenv("HOSTNAME") != name+"-"+rank || ranks < 2 {
		return ""
	}
	return name + "-" + strconv.Itoa((number+1)%ranks) + "." + domain
}
