package story

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEveryRankFails: thousands of ranks fail at once, and each failure asks about the whole run. If each of them
// looked for the answer, this would take a minute.
func TestEveryRankFails(t *testing.T) {
	const (
		ranks = 4096
		limit = 10 * time.Second // a hundred times what it takes
	)
	warnings := []string{
		"NCCL WARN NET/IB : Got completion from peer 10.0.%d.%d<40000> with status=12 opcode=0 len=0 vendor err 129 " +
			"(Recv) localGid ::ffff:10.0.0.1 remoteGids ::ffff:10.0.0.2 hca mlx5_0",
		"NCCL WARN socketProgress: Call to recv from 10.0.%d.%d<39275> failed : Connection timed out",
	}
	for _, warning := range warnings {
		var log strings.Builder
		for rank := range ranks {
			source := fmt.Sprintf("gpu-%04d:%d:%d [%d] ", rank/8, 20000+rank, 40000+rank, rank%8)
			log.WriteString(source + "NCCL INFO Using network IB\n")
			log.WriteString(source + fmt.Sprintf(warning, rank%250, rank/250) + "\n")
		}
		begun := time.Now()
		run := Tell(parsed("job.log", []byte(log.String()))).Last()
		if took := time.Since(begun); took > limit {
			t.Errorf("%v for %s", took, warning)
		}
		if run.Outcome != OutcomeFail || len(run.Causes) == 0 || len(run.Victims)+len(run.Causes[0].Evidence) == 0 {
			t.Errorf("%s: %s, %v", warning, run.Outcome, run.Causes)
		}
	}
}
