package event

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestBenignTable asserts the form of the table, and that no line of it is about a process that ended.
func TestBenignTable(t *testing.T) {
	last := -1
	for line := range strings.Lines(benignTable) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != benignFields {
			t.Fatalf("%q", line)
		}
		runs, err := strconv.Atoi(fields[0])
		if err != nil || last >= 0 && runs > last {
			t.Errorf("%q: not sorted by runs", line)
		}
		last = runs
		form := fields[benignFields-1]
		if FormOf(form) != form {
			t.Errorf("%q is not what FormOf returns, which is %q", form, FormOf(form))
		}
		if e, ok := recognize(otherSignatures, form, ""); ok && !e.IsVague() {
			t.Errorf("%q is %s, not vague", form, e.Signature)
		}
	}
	if last < 0 {
		t.Error("the table is empty")
	}
}

// TestFormOf: what differs from run to run is left out.
func TestFormOf(t *testing.T) {
	same := []string{
		"3: [node-7:4242] PMIX ERROR: ERROR in file /opt/pmix/src/lock.c at line 168",
		"12: [gpu-a:9] PMIX ERROR: ERROR in file /usr/lib/lock.c at line 3",
	}
	if a, b := FormOf(same[0]), FormOf(same[1]); a != b {
		t.Errorf("%q and %q", a, b)
	}
	if slices.Equal(strings.Fields(FormOf("the disk is full")), strings.Fields(FormOf("the disk is slow"))) {
		t.Error("words are left out")
	}
}
