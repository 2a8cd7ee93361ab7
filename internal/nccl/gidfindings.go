package nccl

import (
	"fmt"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
)

func gidFile(r rail.Rail, slot int) string { return r.PortFile(fmt.Sprintf("gids/%d", slot)) }

func gidEvidence(roce []rail.Rail) []check.Evidence {
	e := make([]check.Evidence, 0, len(roce))
	for _, r := range roce {
		e = append(e, check.Evidence{
			Source: gidFile(r, r.GID.Index), Got: r.GID.IP().String() + ", " + r.GID.Type.String(),
		})
	}
	return e
}

// sayStuck reports versions that would not find the rails' GIDs. If other versions were found too, it is unknown which
// one the command loads, and the newest decides.
func (g gidChoice) sayStuck(stuck []version, summary string) {
	f := check.Finding{
		Check: GIDIndex, Status: check.Fail, Subject: check.EnvRef("NCCL_IB_GID_INDEX"),
		Summary:  summary,
		Evidence: gidEvidence(g.roce),
		Fix: check.ByUser("Use NCCL 2.26.2 or later, which chooses for each HCA, and remove older versions.",
			"pip install -U nvidia-nccl-cu12"),
	}
	if _, fixed := g.c.userIndex(); fixed {
		f.Fix = unsetFix("NCCL_IB_GID_INDEX")
	}
	if len(stuck) < len(g.c.versions) {
		f.Status = check.Warn
		f.Summary += fmt.Sprintf("; right only if the command loads NCCL %s", g.c.versions[len(g.c.versions)-1])
		for _, lib := range g.c.s.NCCL.Libraries {
			f.Evidence = append(f.Evidence, check.Evidence{Source: lib.Path, Got: "NCCL " + lib.Version})
		}
	}
	g.c.say(f)
}

func unknownVersion(roce []rail.Rail) check.Finding {
	return check.Finding{
		Check: GIDIndex, Status: check.Unknown, Subject: check.EnvRef("NCCL_IB_GID_INDEX"),
		Summary: "the version of NCCL is unknown and the rails' GIDs have different indices: " +
			"only NCCL 2.26.2 and later choose the right ones",
		Evidence: gidEvidence(roce),
	}
}

// sayForeign reports rails on which NCCL's own choice is wrong and no setting corrects it.
func (g gidChoice) sayForeign(first misfit) {
	g.c.say(check.Finding{
		Check: GIDIndex, Status: check.Fail, Subject: check.EnvRef("NCCL_IB_GID_INDEX"),
		Summary: "NCCL would use " + first.String() +
			", and no single index or address range selects the pod's own GID on every rail",
		Evidence: gidEvidence(g.roce),
		Fix: check.ByAdmin("Give the pod its own virtual functions: " +
			"their GID tables are not shared with other pods."),
	})
}

// misledBy returns the finding about rails on which the settings of the user select a wrong slot.
func (g gidChoice) misledBy(wrong []misfit, set []string) check.Finding {
	first := wrong[0]
	f := check.Finding{
		Check: GIDIndex, Status: first.status, Subject: check.EnvRef(set[0]),
		Summary: fmt.Sprintf("%s makes NCCL use %s; the pod's GID is in slot %d", g.c.written(set), first,
			first.rail.GID.Index),
		Fix: unsetFix(set...),
	}
	if n := len(wrong); n > 1 {
		f.Summary += fmt.Sprintf(" (and %d more like it)", n-1)
	}
	for _, name := range set {
		f.Evidence = append(f.Evidence, check.Evidence{Source: g.c.origin(name), Got: g.c.written([]string{name})})
	}
	for _, w := range wrong {
		f.Status = max(f.Status, w.status)
		f.Evidence = append(f.Evidence, check.Evidence{
			Source: gidFile(w.rail, w.slot), Got: w.why,
			Want: fmt.Sprintf("slot %d, %s", w.rail.GID.Index, w.rail.GID.IP()),
		})
	}
	return f
}
