package nccl

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
)

func gidEvidence(roce []rail.Rail) []check.Evidence {
	var e []check.Evidence
	for _, r := range roce {
		e = append(e, check.Evidence{
			Source: fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/gids/%d", r.Device, r.Port, r.GID.Index),
			Got:    r.GID.IP().String() + ", " + r.GID.Type.String(),
		})
	}
	return e
}

// sayStuck is about versions that would not find the rails' GIDs. Where others were found beside them, which of them the
// command loads is not known, and the choice is made for the newest.
func (c *computation) sayStuck(roce []rail.Rail, stuck []version, summary string) {
	f := check.Finding{
		Check: GIDIndex, Status: check.Fail, Subject: "env/NCCL_IB_GID_INDEX", Summary: summary, Evidence: gidEvidence(roce),
		Fix: &check.Fix{Text: "Use NCCL 2.26.2 or later, which chooses per HCA, and no older one beside it.", Commands: []string{"pip install -U nvidia-nccl-cu12"}, Who: check.User},
	}
	if _, fixed := c.userIndex(); fixed {
		f.Fix = &check.Fix{Text: "Unset it, or let Railhead choose with --override.", Commands: []string{"unset NCCL_IB_GID_INDEX"}, Who: check.User}
	}
	if len(stuck) < len(c.versions) {
		f.Status = check.Warn
		f.Summary += fmt.Sprintf("; right if the command loads NCCL %s", c.versions[len(c.versions)-1])
		for _, lib := range c.s.NCCL.Libraries {
			f.Evidence = append(f.Evidence, check.Evidence{Source: lib.Path, Got: "NCCL " + lib.Version})
		}
	}
	c.say(f)
}

func unknownVersion(roce []rail.Rail) check.Finding {
	return check.Finding{
		Check: GIDIndex, Status: check.Unknown, Subject: "env/NCCL_IB_GID_INDEX",
		Summary:  "no libnccl found whose version could be told, and the rails' GIDs have different indices: right from NCCL 2.26.2 on, not before",
		Evidence: gidEvidence(roce),
	}
}

// sayForeign is about rails on which NCCL's own choice is wrong and cannot be helped.
func (c *computation) sayForeign(roce []rail.Rail) {
	c.say(check.Finding{
		Check: GIDIndex, Status: check.Fail, Subject: "env/NCCL_IB_GID_INDEX",
		Summary:  "NCCL would take a GID of another namespace, and neither one index nor one address range leads to the pod's own",
		Evidence: gidEvidence(roce),
		Fix:      &check.Fix{Text: "Give the pod virtual functions of its own, whose GID tables are not shared with other pods.", Who: check.Admin},
	})
}

// sayMisled is about rails on which what the user set leads to a wrong slot.
func (c *computation) sayMisled(wrong []misfit, set []string) {
	first := wrong[0]
	f := check.Finding{
		Check: GIDIndex, Status: first.status, Subject: check.Subject("env/" + set[0]),
		Summary: fmt.Sprintf("%s leads NCCL to slot %d of %s, which %s; the pod's GID is slot %d", c.written(set), first.slot, first.rail.Name(), first.why, first.rail.GID.Index),
		Fix: &check.Fix{
			Text: "Unset it, or let Railhead choose with --override.", Commands: []string{"unset " + strings.Join(set, " ")}, Who: check.User,
		},
	}
	if n := len(wrong); n > 1 {
		f.Summary += fmt.Sprintf(" (and %d more like it)", n-1)
	}
	for _, name := range set {
		f.Evidence = append(f.Evidence, check.Evidence{Source: c.origin(name), Got: c.written([]string{name})})
	}
	for _, w := range wrong {
		f.Status = max(f.Status, w.status)
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/gids/%d", w.rail.Device, w.rail.Port, w.slot), Got: w.why,
			Want: fmt.Sprintf("slot %d, %s", w.rail.GID.Index, w.rail.GID.IP()),
		})
	}
	c.say(f)
}
