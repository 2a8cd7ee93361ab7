package e2e_test

import "testing"

func TestZZ(t *testing.T) {
	setUp(t)
	a := admin(t, openShift)
	show := func(r result) { t.Helper(); t.Logf("exit %d\n--out\n%s\n--err\n%s", r.code, r.out, r.err) }
	show(a.railhead(t, "setup", "cluster", "--sriov", "--yes"))
	if err := openShift.Client().Delete(t.Context(), sriovObject("SriovNetworkNodePolicy", "eno8np0")); err != nil {
		t.Fatal(err)
	}
	show(a.railhead(t, "inventory"))
	show(a.railhead(t, "setup", "cluster", "--sriov", "--yes"))
	show(a.railhead(t, "setup", "cluster", "--sriov", "--yes"))
	show(a.railhead(t, "inventory"))
	show(a.railhead(t, "setup", "namespace", "zz", "--yes"))
	show(a.railhead(t, "setup", "rollback", "--yes"))
	show(a.railhead(t, "inventory"))
}
