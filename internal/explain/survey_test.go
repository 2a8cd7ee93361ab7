package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/nccllog"
	"github.com/railhead/railhead/internal/story"
)

// everyRank are warnings of ranks whose peers are gone.
var everyRank = []string{
	"NCCL WARN NET/IB : Got completion from peer 10.0.%d.%d<40000> with status=12 opcode=0 len=0 vendor err 129 " +
		"(Recv) localGid ::ffff:10.0.0.1 remoteGids ::ffff:10.0.0.2 hca mlx5_0",
	"NCCL WARN socketProgress: Call to recv from 10.0.%d.%d<39275> failed : Connection timed out",
}

// failing is the log of a run in which every rank fails with a warning.
func failing(ranks int, warning string) nccllog.Log {
	var log strings.Builder
	for rank := range ranks {
		source := fmt.Sprintf("gpu-%04d:%d:%d [%d] ", rank/8, 20000+rank, 40000+rank, rank%8)
		log.WriteString(source + "NCCL INFO Using network IB\n")
		log.WriteString(source + fmt.Sprintf(warning, rank%250, rank/250) + "\n")
	}
	return parsed("job.log", []byte(log.String()))
}

// TestEveryRankFails: thousands of ranks fail at once.
func TestEveryRankFails(t *testing.T) {
	for _, warning := range everyRank {
		run := Log(failing(4096, warning)).Last()
		if run.Outcome != story.OutcomeFail || len(run.Causes) == 0 || len(run.Victims)+len(run.Causes[0].Evidence) == 0 {
			t.Errorf("%s: %s, %v", warning, run.Outcome, run.Causes)
		}
	}
}
