//go:build vm

package fabrictest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/wire"
)

// proves wants `railhead-pod wire`, as the unprivileged user of a pod, to prove from the kernel that perftest uses the
// first rail, at the rate that perftest itself measures on a wire of a known rate, and that nothing does afterwards.
// Three commands must fit into the time of perftest, each of which may take some seconds on an emulated machine.
func (s site) proves(t *testing.T, job, ns string, from int, to string) {
	t.Helper()
	const script = `hca=${NCCL_IB_HCA#=}; hca=${hca%%%%:*}
run() { timeout -s KILL 120 ib_write_bw -d $hca -x $NCCL_IB_GID_INDEX -s %d -q 1 -D 40 -F --report_gbits "$@"; }
if [ $NODE_RANK != %d ]; then run > /dev/null; exit; fi
until run %s; do sleep 1; done > /tmp/perftest &
until /railhead/bin/railhead-pod wire --every 300ms > /dev/null; do :; done
/railhead/bin/railhead-pod wire --every 4s -o json > /tmp/moving
wait
/railhead/bin/railhead-pod wire -o json > /tmp/after
echo $hca; echo PART; cat /tmp/perftest; echo PART; cat /tmp/moving; echo PART; cat /tmp/after`
	parts := strings.Split(s.ranks(t, job, ns, fmt.Sprintf(script, messageBytes, from, to))[strconv.Itoa(from)], "PART\n")
	if len(parts) != 4 {
		t.Fatalf("the sender prints %q", parts)
	}
	var moving, after wire.Motion
	for i, m := range []*wire.Motion{&moving, &after} {
		if err := json.Unmarshal([]byte(parts[2+i]), m); err != nil {
			t.Fatalf("%v in %s", err, parts[2+i])
		}
	}
	if after.Proof != wire.NoConnection {
		t.Errorf("after the end: %+v", after)
	}
	measured, err := bench.ParsePerftest(parts[1]).Best()
	if err != nil {
		t.Fatal(err)
	}
	if moving.Proof != wire.RDMA || len(moving.Usages) != 1 {
		t.Fatalf("while perftest sends: %+v", moving)
	}
	u := moving.Usages[0]
	if u.Device != strings.TrimSpace(parts[0]) || !strings.HasPrefix(u.Program, "ib_write_bw") || u.Active != 1 {
		t.Errorf("%+v", u)
	}
	seen := bench.Gbps(u.Sent.Rate * 8 / 1e9)
	t.Logf("railhead-pod wire %.6f Gb/s, perftest %.6f Gb/s", float64(seen), float64(measured))
	if ratio := float64(seen / measured); ratio < 1/1.05 || ratio > 1.05 {
		t.Errorf("wire says %.3f of what perftest does", ratio)
	}
}
