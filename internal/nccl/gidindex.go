package nccl

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/rail"
)

// gidIndex decides between leaving the choice to NCCL, one index for all HCAs, and an address range.
func (c *computation) gidIndex() {
	roce := roceRails(c.rails)
	if len(roce) == 0 {
		return // InfiniBand: the variable is ignored from 2.22 on, 0 is right before
	}
	gidChoice{c, roce}.decide()
}

// gidChoice decides on the GID of rails that speak RoCE.
type gidChoice struct {
	c    *computation
	roce []rail.Rail
}

func (g gidChoice) decide() {
	if index, fixed := g.c.userIndex(); fixed && index >= 0 && g.keepsIndex(index) {
		return
	}
	_, fixed := g.c.userIndex() // to -1, which leaves the choice to NCCL
	rules, ok := g.gidRules()
	if !ok {
		return
	}
	stuck, why := g.cannotChoose()
	common, shared := commonIndex(g.roce)
	switch {
	case len(stuck) > 0 && shared && !fixed:
		g.c.set("NCCL_IB_GID_INDEX", strconv.Itoa(common), Computed, why)
		return
	case len(stuck) > 0 && fixed:
		g.sayStuck(stuck, why+", but "+g.c.written([]string{"NCCL_IB_GID_INDEX"})+" leaves the choice to it")
	case len(stuck) > 0:
		g.sayStuck(stuck, why+", and no single index is right for all rails")
	}
	if len(stuck) == 0 || len(stuck) < len(g.c.versions) {
		g.chooses(rules)
	}
}

func (g gidChoice) chooses(rules gidRules) {
	common, shared := commonIndex(g.roce)
	misled, set := g.misled(rules), g.c.gidSettings()
	_, ranged := g.c.value("NCCL_IB_ADDR_RANGE")
	switch {
	case len(misled) == 0 && len(g.c.versions) > 0:
		newest := g.c.versions[len(g.c.versions)-1]
		g.c.leave("NCCL_IB_GID_INDEX", fmt.Sprintf("NCCL %s finds the %s GID of each HCA itself", newest,
			wanted(rules)))
	case len(misled) == 0 && len(set) > 0:
		g.c.leave("NCCL_IB_GID_INDEX",
			fmt.Sprintf("with %s NCCL 2.21 and later find a GID of the pod on each HCA", g.c.written(set)))
	case shared && len(set) == 0:
		g.c.set("NCCL_IB_GID_INDEX", strconv.Itoa(common), Computed, whyShared(misled))
	case len(misled) == 0:
		g.c.leave("NCCL_IB_GID_INDEX",
			"no single index is right for all rails; NCCL 2.26.2 and later choose the right one on each HCA")
		g.c.say(unknownVersion(g.roce))
	case !ranged && g.addressRange(rules):
	case len(set) > 0:
		g.c.say(g.misledBy(misled, set))
	default:
		g.sayForeign(misled[0])
	}
}

// whyShared explains an index that is set although no version of NCCL that was found needs one.
func whyShared(misled []misfit) string {
	if len(misled) > 0 {
		return "NCCL would choose " + misled[0].String() + "; this slot has the pod's address on every rail"
	}
	return "the version of NCCL is unknown; this slot is RoCE v2 with the pod's address on every rail, " +
		"right for every version"
}

func roceRails(rails []rail.Rail) (all []rail.Rail) {
	for i := range rails {
		if rails[i].GID != nil {
			all = append(all, rails[i])
		}
	}
	return all
}

// cannotChoose returns the versions that cannot choose a GID, oldest first, and why the first cannot. No version is
// worse than an older one.
func (g gidChoice) cannotChoose() (stuck []version, why string) {
	gap := slices.IndexFunc(g.roce, func(r rail.Rail) bool {
		table, _ := gidTable(g.c.s, r)
		return len(table) == 0 || table[0].Index != 0
	})
	for _, v := range g.c.versions {
		switch {
		case v.before(choosesGID):
			why = cmp.Or(why,
				fmt.Sprintf("NCCL %s does not choose a GID: its default is slot 0, RoCE v1 and link-local", v))
		case v.before(survivesGaps) && gap >= 0:
			why = cmp.Or(why,
				fmt.Sprintf("NCCL %s aborts on the empty slot 0 of %s (fixed in 2.26.2)", v, g.roce[gap].Name()))
		default:
			return stuck, why
		}
		stuck = append(stuck, v)
	}
	return stuck, why
}

func commonIndex(roce []rail.Rail) (int, bool) {
	index := roce[0].GID.Index
	return index, !slices.ContainsFunc(roce, func(r rail.Rail) bool { return r.GID.Index != index })
}

// addressRange limits NCCL's choice to the pod's own addresses if GIDs of other namespaces precede them.
func (g gidChoice) addressRange(rules gidRules) bool {
	before, covered := g.misled(rules), covering(g.roce)
	rules.within = rangeOf(covered)
	if len(g.misled(rules)) > 0 {
		return false
	}
	g.c.set("NCCL_IB_ADDR_RANGE", covered.String(), Computed,
		"NCCL would choose "+before[0].String()+"; the rails' own addresses are in this range")
	return true
}

// covering returns the smallest prefix that contains the address of every rail.
func covering(roce []rail.Rail) netip.Prefix {
	ip := roce[0].GID.IP()
	for bits := ip.BitLen(); ; bits-- {
		prefix, err := ip.Prefix(bits)
		outside := func(r rail.Rail) bool { return !prefix.Contains(r.GID.IP()) }
		if err != nil || !slices.ContainsFunc(roce, outside) {
			return prefix
		}
	}
}

// userIndex returns the index that the user set and this run keeps. -1, and a value that NCCL cannot read, select its
// automatic choice.
func (c settings) userIndex() (index int, set bool) {
	value, set := c.value("NCCL_IB_GID_INDEX")
	if n, ok := number(value); ok {
		return int(n), set
	}
	return -1, set
}

// keepsIndex judges an index that the user set, and returns whether this run keeps it.
func (g gidChoice) keepsIndex(index int) bool {
	var wrong []misfit
	for _, r := range g.roce {
		if status, why := g.slotFault(r, index); status != check.Pass {
			wrong = append(wrong, misfit{r, index, status, why})
		}
	}
	const name = "NCCL_IB_GID_INDEX"
	if len(wrong) > 0 && g.c.contradicts(name, g.misledBy(wrong, []string{name})) {
		return false
	}
	g.c.set(name, "", UserSet, "")
	return true
}
