package podcli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/launch"
	"github.com/railhead/railhead/internal/nccl"
)

// nextRankPort is the first of those on which ranks wait for the one before them: each rail has its own.
const nextRankPort = 18615

// toNextRank tries the rails that do not reach themselves to the pod of the next rank, which does the same: a card whose
// switch sends everything outside (VEPA) has no loopback. Where perftest did not come as far as to send, it would not there.
func toNextRank(paths []nccl.Path, loops []launch.Trial, found []check.Finding, say func(line string)) {
	peer := nextRank(os.Getenv)
	var trials []launch.Trial
	var rails []int
	for i, p := range paths {
		sent := loops[i].Hung || strings.Contains(loops[i].Text, "#bytes") // the columns' names, when its QPs are connected
		if found[i].Status == check.Fail && sent && peer != "" {
			rails = append(rails, i)
			trials = append(trials, launch.Trial{Words: loopbackWords(p), Peer: peer, Port: nextRankPort + i})
		}
	}
	if len(trials) == 0 {
		return
	}
	say(fmt.Sprintf("preflight: %d of %d rails do not reach themselves; they write to %s, for %s at most", len(trials), len(paths), peer, preflightLimit))
	if launch.Try(loopbackTool, trials, os.Environ(), preflightLimit) != nil {
		return // it was there before
	}
	for n, i := range rails {
		status, text := cameThrough(paths[i], &trials[n])
		if status == check.Pass {
			found[i].Status, found[i].Summary = status, fmt.Sprintf("no loopback; to %s %s", peer, text)
		} else {
			found[i].Summary += "; to " + peer + ": " + text
		}
	}
}

// nextRank is the host of the next rank's pod, where pods are named as StatefulSets and JobSets name them: alike but for a
// number, and MASTER_ADDR is the first, with its domain. "" where they are not, or there is one.
func nextRank(getenv func(string) string) string {
	first, domain, ok := strings.Cut(getenv("MASTER_ADDR"), ".")
	name, first0 := strings.CutSuffix(first, "-0")
	rank := getenv("NODE_RANK")
	number, err := strconv.Atoi(rank)
	ranks, _ := strconv.Atoi(getenv("NNODES")) // 0 is none, too
	if err != nil || !ok || !first0 || getenv("HOSTNAME") != name+"-"+rank || ranks < 2 {
		return ""
	}
	return name + "-" + strconv.Itoa((number+1)%ranks) + "." + domain
}
