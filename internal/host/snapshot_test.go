package host

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var comparer = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

func TestOwnAddress(t *testing.T) {
	prefix := netip.MustParsePrefix
	known := []Link{
		{Name: "lo", Addresses: Know([]netip.Prefix{prefix("127.0.0.1/8")})},
		{Name: "net1", Addresses: Know([]netip.Prefix{prefix("10.0.0.1/24"), prefix("fd00::1/64")})},
	}
	for name, tc := range map[string]struct {
		links []Link
		ip    string
		link  string
		known bool
	}{
		"own":                   {known, "10.0.0.1", "net1", true},
		"own IPv6":              {known, "fd00::1", "net1", true},
		"neighbour":             {known, "10.0.0.2", "", true},
		"no interface":          {nil, "10.0.0.1", "", false},
		"addresses not known":   {[]Link{{Name: "net1", Addresses: Unread[[]netip.Prefix]("no table")}}, "10.0.0.1", "", false},
		"interface without any": {[]Link{{Name: "net1", Addresses: Know[[]netip.Prefix](nil)}}, "10.0.0.1", "", true},
	} {
		s := Snapshot{Links: tc.links}
		if link, known := s.OwnAddress(netip.MustParseAddr(tc.ip)); link != tc.link || known != tc.known {
			t.Errorf("%s: %q, %v, want %q, %v", name, link, known, tc.link, tc.known)
		}
	}
}

func TestUserSetting(t *testing.T) {
	s := Snapshot{
		Env: map[string]string{"A": "env", "EMPTY": "", "NCCL_SOCKET_IFNAME": "="},
		NCCL: NCCL{Config: []ConfigVar{
			{"~/.nccl.conf", "A", "own"}, {"~/.nccl.conf", "B", "own"}, {"/etc/nccl.conf", "B", "all"},
			{"~/.nccl.conf", "C", ""}, {"/etc/nccl.conf", "C", "all"}, {"/etc/nccl.conf", "EMPTY", "all"}, {"/etc/nccl.conf", "NCCL_SOCKET_IFNAME", "eth0"},
		}},
	}
	for name, want := range map[string]struct {
		value, origin string
		set           bool
	}{
		"A":                  {"env", "the environment", true},
		"B":                  {"own", "~/.nccl.conf", true},
		"C":                  {"", "~/.nccl.conf", false},
		"D":                  {"", "", false},
		"EMPTY":              {"", "the environment", false},
		"NCCL_SOCKET_IFNAME": {"=", "the environment", false},
	} {
		if value, origin, set := s.UserSetting(name); value != want.value || origin != want.origin || set != want.set {
			t.Errorf("%s: %q of %q, %v", name, value, origin, set)
		}
	}
}

// TestLaterVersion: the number survives, so that a reader can say that it may not understand everything.
func TestLaterVersion(t *testing.T) {
	var s Snapshot
	if err := json.Unmarshal([]byte(`{"schemaVersion": 99, "kernel": "7.0", "quantum": {"rails": 8}}`), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Snapshot{SchemaVersion: 99, Kernel: Know("7.0")}, s, comparer...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFactJSON(t *testing.T) {
	type facts struct {
		Text Fact[string]   `json:"text,omitzero"`
		List Fact[[]string] `json:"list,omitzero"`
		Link Fact[PCILink]  `json:"link,omitzero"`
	}
	for name, test := range map[string]struct {
		in   string
		want facts
		err  string
	}{
		"absent":                  {`{}`, facts{}, ""},
		"null":                    {`{"text": null, "list": null, "link": null}`, facts{}, ""},
		"zero is a value":         {`{"text": "", "list": []}`, facts{Text: Know(""), List: Know([]string{})}, ""},
		"unreadable":              {`{"text": {"unreadable": "EIO"}, "link": {"unreadable": ""}}`, facts{Text: Unread[string]("EIO"), Link: Unread[PCILink]("")}, ""},
		"an object":               {`{"link": {"width": 8, "lanes": 1}}`, facts{Link: Know(PCILink{Width: 8})}, ""},
		"an object for a text":    {`{"text": {"value": "x"}}`, facts{}, "cannot unmarshal object"},
		"a reason that is no one": {`{"text": {"unreadable": null}}`, facts{}, "cannot unmarshal object"},
		"a number for a text":     {`{"text": 1}`, facts{}, "cannot unmarshal number"},
	} {
		t.Run(name, func(t *testing.T) {
			var got facts
			err := json.Unmarshal([]byte(test.in), &got)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			data, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var again facts
			if err := json.Unmarshal(data, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, again); diff != "" {
				t.Errorf("written again as %s (-want +got):\n%s", data, diff)
			}
		})
	}
}

// FuzzSnapshotJSON: what can be read of a Snapshot can be written and read again.
func FuzzSnapshotJSON(f *testing.F) {
	for _, seed := range []string{
		`{"schemaVersion": 1, "taken": "2026-11-03T14:20:00Z", "node": null, "pod": "trainer-0", "kernel": {"unreadable": "EIO"}}`,
		`{"devices": [{"name": "mlx5_6", "ports": [{"number": 1, "rate": "400 Gb/sec (4X NDR)", "lid": 0, "counters": {"a": 18446744073709551615}}]}]}`,
		`{"devices": [{"function": {"address": "0000:1a:00.2", "present": true, "path": {"hostBridge": "pci0000:15", "hops": ["0000:15:01.0"]}}}]}`,
		`{"devices": [{"ports": [{"gids": [{"index": 3, "addr": "::ffff:10.10.11.161", "type": "RoCE v2"}]}]}], "iommu": {"units": []}}`,
		`{"links": [{"name": "net1", "mtu": 9000, "up": true, "addresses": ["10.10.11.161/24"]}], "env": {"A": ""}, "nccl": {"config": [{"name": "A"}]}}`,
		`{"limits": {"memlockSoft": "unlimited", "memlockHard": 8388608, "capEff": "00000000000005fb", "uid": -1, "shmBytes": 1}}`,
		`{"gpus": [{"function": {"address": "0000:18:00.0", "link": {"gts": 32, "width": 16}}, "minor": 0}], "problems": [{"op": "read"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again Snapshot
		if json.Unmarshal(data, &s) != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if diff := cmp.Diff(s, again, comparer...); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
