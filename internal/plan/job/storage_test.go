package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/nccl"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/plan/volume"
)

// volumes returns a training cluster with claims, and an SCC for volumes of all kinds.
func volumes() cluster.State {
	s := plantest.Training()
	claim := func(name, phase, class string, modes ...string) cluster.VolumeClaim {
		return cluster.VolumeClaim{Namespace: "train", Name: name, Phase: phase, Class: class, Modes: modes}
	}
	s.Read = append(s.Read, cluster.VolumeClaims, cluster.StorageClasses)
	s.StorageClasses = []cluster.StorageClass{{Name: "cephfs"}, {Name: "local", WaitsForPod: true}}
	s.VolumeClaims = []cluster.VolumeClaim{
		claim("imagenet", "Bound", "cephfs", "ReadOnlyMany", "ReadWriteOnce"),
		claim("shared", "Bound", "cephfs", "ReadWriteMany"),
		claim("disk", "Bound", "cephfs", "ReadWriteOnce"),
		claim("waits", "Pending", "local", "ReadWriteMany"),
		claim("open", "Pending", "cephfs", "ReadWriteMany"),
		claim("lost", "Lost", "cephfs", "ReadWriteMany"),
		claim("device", "Bound", "cephfs", "ReadWriteMany"),
	}
	s.VolumeClaims[6].Block = true
	s.SCCs = append(s.SCCs, cluster.SCC{
		Name: "hostmount-anyuid", RunAsUser: "RunAsAny", HostPath: true,
		Volumes: []string{
			"configMap", "downwardAPI", "emptyDir", "hostPath", "nfs", "persistentVolumeClaim", "projected", "secret",
		},
	})
	s.SCCGrants = append(s.SCCGrants, cluster.SCCGrant{
		SCC: "hostmount-anyuid", Subject: "ServiceAccount/train/h-kim-sa", Namespace: "train", By: "RoleBinding/x",
	})
	return s
}

func TestVolumePrechecks(t *testing.T) {
	mount := func(texts ...string) func(*Options) {
		return func(o *Options) {
			for _, text := range texts {
				v, err := volume.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				o.Storage.Volumes = append(o.Storage.Volumes, v)
			}
		}
	}
	single := func(text string) func(*Options) {
		return func(o *Options) { o.Type, o.Nodes = Single, 1; mount(text)(o) }
	}
	unread := func(kind cluster.Kind) func(*cluster.State) {
		return func(s *cluster.State) { *s = plantest.Unread(*s, kind) }
	}
	fails := []string{"fail volume-usable"}
	runPrechecks(t, volumes, map[string]precheck{
		"a claim for all":        {o: mount("a=pvc:shared:/a")},
		"a claim to read":        {o: mount("a=pvc:imagenet:/a:ro")},
		"a claim of one node":    {o: mount("a=pvc:disk:/a"), want: fails, says: []string{"claim disk can be mounted on one node only, but the pods run on 2 nodes"}},
		"a disk of one pod":      {o: single("a=pvc:disk:/a")},
		"a claim only to read":   {o: mount("a=pvc:imagenet:/a"), want: fails, says: []string{"Add :ro: --volume a=pvc:imagenet:/a:ro"}},
		"a claim that is absent": {o: mount("a=pvc:share:/a"), want: fails, says: []string{"namespace train has no claim share", "Did you mean shared?"}},
		"a device":               {o: mount("a=pvc:device:/a"), want: fails, says: []string{"is a device without a file system"}},
		"a lost volume":          {o: mount("a=pvc:lost:/a"), want: fails, says: []string{"has lost its volume"}},
		"bound by the first pod": {o: mount("a=pvc:waits:/a")},
		"not bound":              {o: mount("a=pvc:open:/a"), want: []string{"warn volume-usable"}, says: []string{"the pods wait until it is bound"}},
		"claims are not read": {
			s: unread(cluster.VolumeClaims), o: mount("a=pvc:shared:/a"),
			want: []string{"unknown volume-usable"}, says: []string{"whether the pods can mount shared could not be read"},
		},
		"classes are not read": {
			s: func(s *cluster.State) { *s = plantest.Unread(*s, cluster.StorageClasses); s.StorageClasses = nil },
			o: mount("a=pvc:waits:/a"), want: []string{"unknown volume-usable"},
		},
		"a name twice": {o: mount("a=pvc:shared:/a", "a=emptydir:/b"), want: []string{"fail job-request"}},
		"a path twice": {o: mount("a=pvc:shared:/a", "b=emptydir:/a"), want: []string{"fail job-request"}},
		"a path of railhead": {
			o: mount("a=emptydir:/railhead/bin"), want: []string{"fail job-request"}, says: []string{"a path that nothing else is mounted on"},
		},
		"no right to the node's files": {
			s: func(s *cluster.State) { s.SCCGrants = s.SCCGrants[:1] }, o: mount("a=hostpath:/srv:/a"),
			want: []string{"fail scc-usable"}, says: []string{"may use no SCC that allows hostPath volumes", "hostmount-anyuid"},
		},
		"a pinned SCC without NFS": {
			o:    func(o *Options) { o.SCC = plan.SCCName; mount("a=nfs:server:/export:/a")(o) },
			want: []string{"fail scc-usable"}, says: []string{"does not allow nfs volumes"},
		},
		"the level restricted": {
			s: restricted, o: mount("a=nfs:server:/export:/a"),
			want: []string{"fail pod-security"}, says: []string{"forbids nfs volumes"},
		},
		"the level baseline and NFS": {
			s: func(s *cluster.State) { s.Namespaces[1].Labels = map[string]string{plan.EnforceLabel: "baseline"} },
			o: mount("a=nfs:server:/export:/a"),
		},
	})
}

// TestVolumeReads: the claims are read if pods mount one, and their classes if one has no volume.
func TestVolumeReads(t *testing.T) {
	o := jobOptions()
	v, _ := volume.Parse("a=pvc:waits:/a")
	o.Storage.Volumes = []volume.Volume{v}
	s := volumes()
	if kinds := Kinds(s.Server, o); !slices.Contains(kinds, cluster.VolumeClaims) {
		t.Errorf("first %v", kinds)
	}
	if kinds := Needs(s, o); !slices.Contains(kinds, cluster.StorageClasses) {
		t.Errorf("then %v", kinds)
	}
	if kinds := append(Kinds(s.Server, jobOptions()), Needs(s, jobOptions())...); slices.Contains(kinds, cluster.VolumeClaims) ||
		slices.Contains(kinds, cluster.StorageClasses) {
		t.Errorf("without a claim %v", kinds)
	}
}

// TestHome: pods that are not root get a writable home.
func TestHome(t *testing.T) {
	uid := int64(1000)
	for name, c := range map[string]struct {
		s    cluster.State
		o    func(*Options)
		want bool
	}{
		"a user of the namespace":         {plantest.Training(), func(*Options) {}, true},
		"a user of the command line":      {plantest.Vanilla(), func(o *Options) { o.Mode, o.RunAsUser = nccl.TCP, &uid }, true},
		"the user of the image":           {plantest.Vanilla(), func(*Options) {}, false},
		"root":                            {memlockLimited(), func(*Options) {}, false},
		"a home that the user has chosen": {plantest.Training(), func(o *Options) { o.Env = map[string]string{"HOME": "/data"} }, false},
	} {
		o := jobOptions()
		c.o(&o)
		p, findings := Deploy(c.s, o)
		if check.Worst(findings) == check.Fail {
			t.Fatalf("%s:\n%s", name, plantest.Wording(findings))
		}
		text := plantest.Manifests(t, p, nil)
		if got := strings.Contains(text, "value: "+homeFolder) && strings.Contains(text, "name: railhead-home"); got != c.want {
			t.Errorf("%s: home %t, want %t", name, got, c.want)
		}
	}
}
