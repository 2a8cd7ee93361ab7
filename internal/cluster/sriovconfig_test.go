package cluster

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSriovConfig compares the policies in force on a card with the answers of the SR-IOV operator's own code, 1.6.0,
// for random policies, which tools/sriovpolicies wrote.
func TestSriovConfig(t *testing.T) {
	text, err := os.ReadFile("testdata/sriov.tsv")
	if err != nil {
		t.Fatal(err)
	}
	card := SriovInterface{Name: "eno5", PCI: "0000:18:00.0", Vendor: "15b3"}
	for row := range strings.Lines(strings.SplitN(string(text), "\n", 2)[1]) {
		fields := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		var all []SriovPolicy
		for policy := range strings.FieldsSeq(fields[0]) {
			all = append(all, policyOf(t, strings.Split(policy, ",")))
		}
		c := SriovConfigOf(all, Node{Name: "n"}, card)
		var names []string
		for _, p := range c.Policies {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		got := fmt.Sprintf("%d\t%d\t%s", c.VFs, c.MTU, strings.Join(names, " "))
		if got != strings.Join(fields[1:], "\t") {
			t.Errorf("%s: %q, the operator has %q", fields[0], got, fields[1:])
		}
	}
}

func policyOf(t *testing.T, fields []string) SriovPolicy {
	t.Helper()
	number := func(i int) int {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	p := SriovPolicy{
		Name: fields[0], ResourceName: fields[1], Priority: number(2), VFs: number(3), MTU: number(4), PFs: fields[5:],
	}
	if fields[5] == "15b3" {
		p.PFs, p.Vendor = nil, fields[5]
	}
	return p
}
