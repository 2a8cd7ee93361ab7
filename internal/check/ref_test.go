package check

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refs are refs of every form and their words.
var refs = map[string]Ref{
	"":                                  {},
	"pod":                               {Kind: Pod},
	"pods":                              {Kind: Pods},
	"pod/h-kim-0":                       PodRef("", "h-kim-0"),
	"pod/train/h-kim-0":                 PodRef("train", "h-kim-0"),
	"node":                              {Kind: Node},
	"node/gpu-1.example.com":            NodeRef("gpu-1.example.com"),
	"env/NCCL_IB_HCA":                   EnvRef("NCCL_IB_HCA"),
	"job/train/h-kim":                   {Kind: Job, Namespace: "train", Name: "h-kim"},
	"job/h-kim":                         Named(Job, "h-kim"),
	"network/train/rail-1":              {Kind: Attachment, Namespace: "train", Name: "rail-1"},
	"resource/openshift.io/rail1":       Named(Resource, "openshift.io/rail1"),
	"all-reduce/rdma/ring":              Named(AllReduce, "rdma/ring"),
	"rail/rail-1":                       Named(Subnet, "rail-1"),
	"h-kim-0 on gpu-1 > h-kim-1 rail a": Named(Text, "h-kim-0 on gpu-1 > h-kim-1 rail a"),
}

func TestRefWords(t *testing.T) {
	for text, want := range refs {
		if got := ParseRef(text); got != want || got.String() != text {
			t.Errorf("%q is read as %+v and written as %q", text, got, got)
		}
	}
	for text, ref := range map[string]Ref{
		"mlx5_6:1":                   RailRef("mlx5_6:1"),
		"mlx5_6":                     DeviceRef("mlx5_6"),
		"net1":                       LinkRef("net1"),
		"pod/train/h-kim-0 mlx5_6:1": RailRef("mlx5_6:1").On(PodRef("train", "h-kim-0")),
		"node/gpu-1 ens1f0":          LinkRef("ens1f0").On(NodeRef("gpu-1")),
		"10.0.0.1":                   Named(Address, "10.0.0.1"),
		"nodes":                      Named(List, "nodes"),
		"leaf a or b rail rail-1":    Named(Leaf, "a or b rail rail-1"),
	} {
		if got := ref.String(); got != text {
			t.Errorf("%+v is written as %q, want %q", ref, got, text)
		}
	}
}

// TestRefJSON reads objects, and the words that versions before Ref wrote.
func TestRefJSON(t *testing.T) {
	for text, want := range refs {
		words, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		object, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{words, object} {
			var got Ref
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", data, diff)
			}
		}
	}
	var later Ref
	if err := json.Unmarshal([]byte(`{"kind":"switch","name":"leaf-1","port":7}`), &later); err != nil || later.String() != "switch/leaf-1" {
		t.Errorf("a kind of a later version is read as %q: %v", later, err)
	}
	if err := json.Unmarshal([]byte(`7`), &later); err == nil {
		t.Error("a number is read as a ref")
	}
}

func TestFindingOfEarlierVersion(t *testing.T) {
	var f Finding
	err := json.Unmarshal([]byte(`{"check":"pod-pending","status":"fail","subject":"pod/train/h-kim-0","summary":"x"}`), &f)
	want := Finding{Check: "pod-pending", Status: Fail, Subject: PodRef("train", "h-kim-0"), Summary: "x"}
	if diff := cmp.Diff(want, f); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
