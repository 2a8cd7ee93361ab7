package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fabric is a simulated one: rail-optimised, a leaf switch for each rail of each group of pods, 400G RoCE.
type fabric struct {
	pods, rails, group int
	noise              float64
	faults             []fault
	labels             bool // leaves are known by their nodes' labels, which all rails of a group share
}

// fault slows the links that it meets to a part of what they had.
type fault struct {
	name string
	of   func(f fabric, a, b, rail int) float64
}

func slowNIC(pod, rail int, part float64) fault {
	return fault{fmt.Sprintf("nic %d/%d", pod, rail), func(_ fabric, a, b, r int) float64 {
		if r == rail && (a == pod || b == pod) {
			return part
		}
		return 1
	}}
}

// cable is one that only two pods use on a rail, as where flows are spread over cables by their addresses.
func cable(x, y, rail int, part float64) fault {
	return fault{fmt.Sprintf("pair %d-%d/%d", x, y, rail), func(_ fabric, a, b, r int) float64 {
		if r == rail && a == x && b == y {
			return part
		}
		return 1
	}}
}

func slowLeaf(group, rail int, part float64) fault {
	return fault{fmt.Sprintf("leaf g%d-r%d", group, rail), func(f fabric, a, b, r int) float64 {
		if r == rail && (a/f.group == group) != (b/f.group == group) {
			return part
		}
		return 1
	}}
}

// smallMTU is a node whose interfaces have MTU 1500: 370.3 of 392.1 Gb/s on all its links.
func smallMTU(pod int) fault {
	return fault{fmt.Sprintf("node %d", pod), func(_ fabric, a, b, _ int) float64 {
		if a == pod || b == pod {
			return 370.3 / 392.1
		}
		return 1
	}}
}

func slowRail(rail int, part float64) fault {
	return fault{fmt.Sprintf("rail %d", rail), func(_ fabric, _, _, r int) float64 {
		if r == rail {
			return part
		}
		return 1
	}}
}

func (f fabric) matrix(seed uint64) *Matrix {
	random := rand.New(rand.NewPCG(seed, 7))
	var pods []MatrixPod
	var rails []MatrixRail
	for r := range f.rails {
		rails = append(rails, MatrixRail{fmt.Sprintf("net%d", r+1), 392.1})
	}
	var leaves []string
	for p := range f.pods {
		pods = append(pods, MatrixPod{Name: fmt.Sprint(p)})
		for r := range f.rails {
			leaf := fmt.Sprintf("g%d", p/f.group)
			if !f.labels {
				leaf += fmt.Sprintf("-r%d", r)
			}
			leaves = append(leaves, leaf)
		}
	}
	m := NewMatrix(pods, rails)
	m.Leaves = leaves
	for r := range f.rails {
		for a := range f.pods {
			for b := a + 1; b < f.pods; b++ {
				v := 392.1 * 0.985 * (1 - math.Abs(random.NormFloat64())*f.noise)
				for _, fault := range f.faults {
					v *= fault.of(f, a, b, r)
				}
				m.Set(a, b, r, Gbps(v))
			}
		}
	}
	return m
}

// named are the culprits in the words of the faults.
func named(a Attribution) map[string]bool {
	names := map[string]bool{}
	for _, c := range a.Culprits {
		switch c.Kind {
		case FabricFault:
			names["fabric"] = true
		case RailFault:
			names[fmt.Sprintf("rail %d", c.Rail)] = true
		case LeafFault:
			leaf := c.Leaves[0]
			if !strings.Contains(leaf, "-r") {
				leaf += fmt.Sprintf("-r%d", c.Rail)
			}
			names["leaf "+leaf] = true
		case NodeFault:
			names["node "+c.Node] = true
		case NICFault:
			names[fmt.Sprintf("nic %d/%d", c.Pods[0], c.Rail)] = true
		case PairFault:
			names[fmt.Sprintf("pair %d-%d/%d", c.Pods[0], c.Pods[1], c.Rail)] = true
		}
	}
	return names
}

func TestAttribute(t *testing.T) {
	for name, faults := range map[string][]fault{
		"healthy":                        nil,
		"one slow NIC":                   {slowNIC(3, 2, 0.5)},
		"one NIC 7 % slow":               {slowNIC(3, 2, 0.93)},
		"one dead NIC":                   {slowNIC(0, 0, 0)},
		"one bad cable":                  {cable(2, 7, 1, 0.4)},
		"one dead cable":                 {cable(0, 1, 3, 0)},
		"one leaf":                       {slowLeaf(1, 3, 0.6)},
		"one node with MTU 1500":         {smallMTU(5)},
		"one rail":                       {slowRail(1, 0.5)},
		"two slow NICs":                  {slowNIC(1, 0, 0.5), slowNIC(6, 3, 0.25)},
		"two slow NICs of one rail":      {slowNIC(1, 2, 0.5), slowNIC(6, 2, 0.3)},
		"a slow NIC and a bad cable":     {slowNIC(4, 0, 0.5), cable(1, 6, 3, 0.2)},
		"a leaf and a slow NIC":          {slowLeaf(0, 1, 0.5), slowNIC(6, 2, 0.5)},
		"a leaf and a NIC of its rail":   {slowLeaf(0, 1, 0.5), slowNIC(6, 1, 0.2)},
		"MTU 1500 and a slow NIC":        {smallMTU(2), slowNIC(7, 1, 0.5)},
		"MTU 1500 and a leaf":            {smallMTU(2), slowLeaf(3, 0, 0.6)},
		"two nodes with MTU 1500":        {smallMTU(2), smallMTU(7)},
		"a rail and a NIC of another":    {slowRail(0, 0.5), slowNIC(3, 2, 0.5)},
		"two nodes of one rack":          {smallMTU(6), smallMTU(7)},
		"MTU 1500 and another slow NIC":  {smallMTU(5), slowNIC(4, 2, 0.5)},
		"two bad cables":                 {cable(0, 7, 0, 0.5), cable(2, 4, 3, 0.1)},
		"a bad cable at a NIC of a leaf": {cable(2, 4, 2, 0.5), slowLeaf(3, 0, 0.6)},
	} {
		want := map[string]bool{}
		for _, f := range faults {
			want[f.name] = true
		}
		for _, f := range []fabric{
			{8, 8, 2, 0.01, faults, false}, {8, 4, 2, 0.002, faults, true}, {64, 8, 8, 0.01, faults, true}, {64, 4, 4, 0.01, faults, false},
		} {
			for seed := range uint64(3) {
				got := f.matrix(seed).Attribute(0.9)
				if d := cmp.Diff(want, named(got)); d != "" {
					t.Errorf("%s, %d pods x %d rails, noise %g, seed %d: %s\nspread %g, baseline %g", name, f.pods, f.rails, f.noise, seed,
						d, got.Spread, got.Baseline)
				}
			}
		}
	}
}

// All kinds of faults at 1,024 pods x 8 rails, each in less than 500 MB. 'make bench' measures the time.
func TestAttributeLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("4 million links")
	}
	for _, faults := range [][]fault{
		nil,
		{slowNIC(1000, 7, 0.5)},
		{cable(2, 700, 1, 0.4)},
		{slowLeaf(31, 3, 0.6)},
		{smallMTU(512)},
		{smallMTU(5), slowNIC(900, 6, 0.5)},
	} {
		want := map[string]bool{}
		for _, f := range faults {
			want[f.name] = true
		}
		m := fabric{1024, 8, 32, 0.01, faults, true}.matrix(1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := m.Attribute(0.9)
		runtime.ReadMemStats(&after)
		if d := cmp.Diff(want, named(got)); d != "" {
			t.Errorf("%v: %s", want, d)
		}
		t.Logf("%v: %d MB in all", want, (after.TotalAlloc-before.TotalAlloc)>>20)
		const most = 500 << 20
		if bytes := after.TotalAlloc - before.TotalAlloc + uint64(4*len(m.Values)); bytes > most {
			t.Errorf("%v: %d bytes", want, bytes)
		}
	}
}

// Noise alone, of whatever width, names no part.
func TestAttributeNoise(t *testing.T) {
	for _, noise := range []float64{0, 0.001, 0.01, 0.03, 0.1} {
		for _, f := range []fabric{{2, 1, 1, noise, nil, false}, {3, 1, 1, noise, nil, false}, {2, 8, 1, noise, nil, true}, {8, 8, 2, noise, nil, true}, {64, 8, 8, noise, nil, false}} {
			for seed := range uint64(10) {
				if got := f.matrix(seed).Attribute(0); len(got.Culprits) > 0 {
					t.Errorf("%d pods x %d rails, noise %g: %+v", f.pods, f.rails, noise, got)
				}
			}
		}
	}
}

// values fills a small matrix of one rail, or more: for each rail the pairs 0-1, 0-2 ... 1-2 ...
func values(pods, rails int, ceiling Gbps, v ...float32) *Matrix {
	m := &Matrix{Values: v}
	for p := range pods {
		m.Pods = append(m.Pods, MatrixPod{Name: fmt.Sprint(p), Node: fmt.Sprint("n", p/2)})
	}
	for r := range rails {
		m.Rails = append(m.Rails, MatrixRail{fmt.Sprint("net", r+1), ceiling})
	}
	return m
}

func TestAttributeSmall(t *testing.T) {
	leaves := values(4, 1, 0, 100, 50, 50, 50, 50, 100)
	leaves.Leaves = []string{"a", "a", "b", "b"}
	for name, c := range map[string]struct {
		m    *Matrix
		want []Culprit
	}{
		"one of three pods": {values(3, 1, 98, 40, 97, 41), []Culprit{
			{Kind: NICFault, Pods: []int{1}, Links: 2, Measured: 41, Expected: 97},
		}},
		"one of two links at half the rate": {values(2, 2, 400, 190, 380), []Culprit{
			{Kind: PairFault, Pods: []int{0, 1}, Links: 1, Measured: 190, Expected: 380},
		}},
		"everything is slow": {values(3, 1, 98, 49, 49, 49), []Culprit{
			{Kind: FabricFault, Rail: EveryRail, Links: 3, Measured: 49, Expected: 98},
		}},
		"nothing came through": {values(2, 1, 98, 0), []Culprit{
			{Kind: FabricFault, Rail: EveryRail, Links: 1, Expected: 98},
		}},
		"a dead pair of a slow fabric": {values(4, 1, 98, 49, 49, 49, 0, 49, 49), []Culprit{
			{Kind: PairFault, Pods: []int{1, 2}, Links: 1, Expected: 49},
			{Kind: FabricFault, Rail: EveryRail, Links: 6, Measured: 49, Expected: 98},
		}},
		"nothing was measured": {values(2, 1, 98, -1), nil},
		"two pods, one rail of two": {values(2, 2, 98, 97, 20), []Culprit{
			{Kind: PairFault, Pods: []int{0, 1}, Rail: 1, Links: 1, Measured: 20, Expected: 97},
		}},
		"a pair on both its rails": {values(4, 2, 98, 20, 97, 97, 97, 97, 97, 20, 97, 97, 97, 97, 97), []Culprit{
			{Kind: PairFault, Pods: []int{0, 1}, Rail: EveryRail, Links: 2, Measured: 20, Expected: 97},
		}},
		"both pods of a node": {values(4, 1, 98, 97, 20, 20, 20, 20, 10), []Culprit{
			{Kind: NodeFault, Pods: []int{2, 3}, Rail: EveryRail, Node: "n1", Links: 5, Measured: 20, Expected: 97},
		}},
		"two leaves that see only each other": {leaves, []Culprit{
			{Kind: LeafFault, Leaves: []string{"a", "b"}, Links: 4, Measured: 50, Expected: 100},
		}},
		"a file that lacks values": {values(3, 1, 98, 40), nil},
	} {
		got := c.m.Attribute(0.9)
		approx := cmp.Comparer(func(x, y Gbps) bool { return math.Abs(float64(x-y)) < 0.001 })
		if d := cmp.Diff(c.want, got.Culprits, approx); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Leaves by a label of their node: one name for all rails, whether there is one switch behind it or one for each rail.
func TestAttributeLeafOfNode(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fault
		want   []Culprit
	}{
		"its only switch":        {[]fault{slowLeaf(1, 0, 0.5), slowLeaf(1, 1, 0.5)}, []Culprit{{Kind: LeafFault, Rail: EveryRail, Leaves: []string{"g1"}, Links: 16}}},
		"the switch of one rail": {[]fault{slowLeaf(1, 1, 0.5)}, []Culprit{{Kind: LeafFault, Rail: 1, Leaves: []string{"g1"}, Links: 8}}},
		"switches of two racks":  {[]fault{slowLeaf(0, 0, 0.5), slowLeaf(2, 1, 0.25)}, []Culprit{{Kind: LeafFault, Leaves: []string{"g0"}, Links: 8}, {Kind: LeafFault, Rail: 1, Leaves: []string{"g2"}, Links: 8}}},
		"a NIC, and no switch":   {[]fault{slowNIC(2, 1, 0.5)}, []Culprit{{Kind: NICFault, Pods: []int{2}, Rail: 1, Links: 5}}},
	} {
		got := fabric{6, 2, 2, 0.001, c.faults, true}.matrix(1).Attribute(0.9).Culprits
		if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Culprit{}, "Measured", "Expected")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Half of a rail's NICs are slow, and so most of its links: the rail is not.
func TestAttributeHalfOfARail(t *testing.T) {
	got := fabric{6, 4, 1, 0.002, []fault{slowNIC(1, 3, 0.4), slowNIC(3, 3, 0.4), slowNIC(5, 3, 0.4)}, false}.matrix(1).Attribute(0.9)
	if d := cmp.Diff(map[string]bool{"nic 1/3": true, "nic 3/3": true, "nic 5/3": true}, named(got)); d != "" {
		t.Error(d)
	}
}

// Of a quick search only a few links of each pod are known.
func TestAttributeQuick(t *testing.T) {
	for name, c := range map[string]struct {
		pods   int
		faults []fault
	}{
		"healthy":                   {64, nil},
		"one slow NIC":              {64, []fault{slowNIC(13, 2, 0.5)}},
		"a leaf of one rail":        {64, []fault{slowLeaf(2, 1, 0.5)}},
		"a dead NIC and a slow one": {64, []fault{slowNIC(13, 2, 0), slowNIC(40, 1, 0.5)}},
		"a node at half of its rate": {64, []fault{{"node 9", func(_ fabric, a, b, _ int) float64 {
			return map[bool]float64{true: 0.5, false: 1}[a == 9 || b == 9]
		}}}},
		"half of four pods": {4, []fault{slowNIC(0, 2, 0.5), slowNIC(3, 2, 0.5)}},
		"half of six pods":  {6, []fault{slowNIC(0, 2, 0.5), slowNIC(3, 2, 0.5), slowNIC(4, 2, 0.5)}},
	} {
		f := fabric{c.pods, 4, 8, 0.01, c.faults, true}
		whole := f.matrix(1)
		m := NewMatrix(whole.Pods, whole.Rails)
		m.Leaves = whole.Leaves
		for _, round := range Quick(f.pods) {
			for _, l := range SameRail(round, f.rails) {
				v, _ := whole.At(l.From.Pod, l.To.Pod, l.From.Rail)
				m.Set(l.From.Pod, l.To.Pod, l.From.Rail, v)
			}
		}
		want := map[string]bool{}
		for _, f := range c.faults {
			want[f.name] = true
		}
		if d := cmp.Diff(want, named(m.Attribute(0.9))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestMatrix(t *testing.T) {
	m := NewMatrix(make([]MatrixPod, 5), make([]MatrixRail, 3))
	n := Gbps(0)
	for r := range 3 {
		for a := range 5 {
			for b := a + 1; b < 5; b++ {
				if _, ok := m.At(a, b, r); ok {
					t.Fatalf("%d-%d/%d was set as another", a, b, r)
				}
				n++
				m.Set(b, a, r, n)
				m.Set(a, b, r, n+1) // the other direction is faster
				if got, ok := m.At(a, b, r); !ok || got != n {
					t.Fatalf("%d-%d/%d: %v", a, b, r, got)
				}
			}
		}
	}
	if _, ok := m.At(1, 1, 0); ok || !m.Whole() {
		t.Error("a pod with itself")
	}
}

func BenchmarkAttribute(b *testing.B) {
	m := fabric{1024, 8, 32, 0.01, []fault{smallMTU(5), slowNIC(900, 6, 0.5), slowLeaf(3, 1, 0.6)}, true}.matrix(1)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if got := m.Attribute(0.9); len(got.Culprits) != 3 {
			b.Fatal(got)
		}
	}
}
