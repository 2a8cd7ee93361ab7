package pods

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railhead/railhead/internal/cluster"
)

func TestParseRefusal(t *testing.T) {
	ipcLock := []fieldError{
		{Field: ".containers[0].capabilities.add", Value: `"IPC_LOCK"`, Detail: "capability may not be added"},
	}
	for name, c := range map[string]struct {
		text    string
		want    refusal
		closest string
		other   bool // no refusal
	}{
		"every provider of OpenShift 4, one usable": {
			text: `create Pod h-kim-0 in StatefulSet h-kim failed error: pods "h-kim-0" is forbidden: unable to ` +
				`validate against any security context constraint: ` +
				`[provider "anyuid": Forbidden: not usable by user or serviceaccount, provider restricted-v2: ` +
				`.containers[0].capabilities.add: Invalid value: "IPC_LOCK": capability may not be added, ` +
				`provider "restricted": Forbidden: not usable by user or serviceaccount, provider "railhead-rdma": ` +
				`Forbidden: not usable by user or serviceaccount]`,
			want: refusal{
				NotUsable:  []string{"anyuid", "restricted", "railhead-rdma"},
				Objections: []sccObjections{{SCC: "restricted-v2", Objections: ipcLock}},
			},
			closest: "restricted-v2",
		},
		"two usable, the second closer": {
			text: `pods "a" is forbidden: unable to validate against any security context constraint: [provider ` +
				`restricted-v2: .spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed ` +
				`to be used, ` +
				`provider restricted-v2: .containers[0].privileged: Invalid value: true: Privileged containers are ` +
				`not allowed, provider hostnetwork: .containers[0].privileged: Invalid value: true: Privileged ` +
				`containers are not allowed]`,
			want: refusal{Objections: []sccObjections{
				{SCC: "restricted-v2", Objections: []fieldError{
					{
						Field:  ".spec.securityContext.hostNetwork",
						Value:  "true",
						Detail: "Host network is not allowed to be used",
					},
					{Field: ".containers[0].privileged", Value: "true", Detail: "Privileged containers " +
						"are not allowed"}}},
				{
					SCC: "hostnetwork",
					Objections: []fieldError{
						{
							Field:  ".containers[0].privileged",
							Value:  "true",
							Detail: "Privileged containers are not allowed",
						},
					},
				},
			}},
			closest: "hostnetwork",
		},
		"volumes, which name no provider": {
			text: `unable to validate against any security context constraint: [spec.volumes[1]: Invalid value: ` +
				`"downwardAPI": downwardAPI volumes are not allowed to be used]`,
			want: refusal{
				Objections: []sccObjections{
					{
						Objections: []fieldError{
							{
								Field:  "spec.volumes[1]",
								Value:  `"downwardAPI"`,
								Detail: "downwardAPI volumes are not allowed to be used",
							},
						},
					},
				},
			},
			closest: "",
		},
		"groups as Go prints them, wrapped by a terminal": {
			text: "unable to validate against any security context\n   constraint: [provider restricted: " +
				".spec.securityContext.fsGroup: Invalid value: []int64{4242}: 4242 is not an\n allowed group]",
			want: refusal{Objections: []sccObjections{{SCC: "restricted", Objections: []fieldError{
				{Field: ".spec.securityContext.fsGroup", Value: "[]int64{4242}", Detail: "4242 is not an allowed " +
					"group"}}}}},
			closest: "restricted",
		},
		"only restricted would do": {
			text: "unable to validate against any security context constraint: [provider \"restricted\": Forbidden: " +
				"not usable by user or serviceaccount, " +
				"no access to scc/restricted: Forbidden: the pod fails to validate against the `restricted-v2` " +
				"security context constraint]",
			want: refusal{NotUsable: []string{"restricted"}, Objections: []sccObjections{{Objections: []fieldError{
				{Field: "scc/restricted", Detail: "the pod fails to validate against the `restricted-v2` security " +
					"context constraint"}}}}},
		},
		"none": {text: `pods "a" is forbidden: exceeded quota: compute`, other: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseRefusal(c.text)
			if ok == c.other {
				t.Fatalf("parseRefusal: ok %t", ok)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("parseRefusal (-want +got):\n%s", diff)
			}
			if closest := got.closest(); closest.SCC != c.closest {
				t.Errorf("closest is %q, want %q", closest.SCC, c.closest)
			}
		})
	}
}

func FuzzParseRefusal(f *testing.F) {
	f.Add(`unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by ` +
		`user or serviceaccount, provider restricted-v2: .containers[0].capabilities.add: Invalid value: ` +
		`"IPC_LOCK": capability may not be added]`)
	f.Add(`unable to validate against any security context constraint: [fsGroup: Invalid value: []int64{1}: 1 is ` +
		`not an allowed group]`)
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := parseRefusal(text)
		if len(r.Objections) > 0 && (!ok || len(r.closest().Objections) == 0) {
			t.Errorf("%q: closest %v of %v", text, r.closest(), r)
		}
		for _, s := range r.Objections {
			for _, o := range s.Objections {
				o.feature()
			}
		}
	})
}

// TestGrantSCC: the fix names the SCC that the site has, and Railhead's own only where it is that one.
func TestGrantSCC(t *testing.T) {
	refused := event("FailedCreate", `pods "h-kim-0" is forbidden: unable to validate against any security context `+
		`constraint: [provider "nccl-scc": Forbidden: not usable by user or serviceaccount, provider "wide": `+
		`Forbidden: `+
		`not usable by user or serviceaccount, provider restricted-v2: .containers[0].capabilities.add: Invalid `+
		`value: "IPC_LOCK": capability may not be added]`)
	site := []cluster.SCC{
		{Name: "wide", AllowedCapabilities: []string{"*"}, HostNetwork: true},
		{Name: "privileged", AllowedCapabilities: []string{"*"}, Privileged: true},
		{Name: "nccl-scc", AllowedCapabilities: []string{"IPC_LOCK"}},
	}
	for name, c := range map[string]struct {
		account string
		sccs    []cluster.SCC
		want    []string
	}{
		"of the site": {"h-kim-sa", site, []string{
			"railhead setup namespace train --scc nccl-scc --name h-kim",
			"oc adm policy add-scc-to-user nccl-scc -z h-kim-sa -n train", "railhead setup cluster",
		}},
		"of the site, for an account of the site": {"trainer", site, []string{
			"oc adm policy add-scc-to-user nccl-scc -z trainer -n train", "railhead setup cluster",
		}},
		"none that is known": {"trainer", site[1:2], []string{
			"railhead setup cluster", "railhead setup cluster --allow-ipc-lock", "railhead setup namespace train",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := cluster.Pod{Namespace: "train", Name: "h-kim-0", ServiceAccount: c.account}
			o, _ := Explain(pod, refused, cluster.State{SCCs: c.sccs})
			if o.Check != SCCIPCLock || !slices.Equal(o.Fix.Commands, c.want) {
				t.Errorf("%s: %q, want %q", o.Check, o.Fix.Commands, c.want)
			}
		})
	}
	own := GrantSCC(cluster.RailheadSCC, "train", "h-kim-sa").Commands[0]
	if own != "railhead setup namespace train --name h-kim" {
		t.Errorf("Railhead's own SCC: %s", own)
	}
}
