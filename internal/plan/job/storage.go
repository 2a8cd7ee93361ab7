package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/volume"
	"github.com/railhead/railhead/internal/words"
)

// VolumeUsable is the check of the claims that the pods mount.
const VolumeUsable check.ID = "volume-usable"

// claimNames returns the claims that the pods mount.
func (s Storage) claimNames() []string {
	var names []string
	for _, v := range s.Volumes {
		if v.Kind == volume.Claim {
			names = append(names, v.Source)
		}
	}
	return names
}

// unbound reports whether the state of a claim depends on its storage class.
func (s Storage) unbound(state cluster.State, namespace string) bool {
	return slices.ContainsFunc(s.claimNames(), func(name string) bool {
		c, ok := state.VolumeClaim(namespace, name)
		return ok && c.Phase == "Pending"
	})
}

// claimsUsable checks the claims that the pods mount, each on a node of its own.
func (s Storage) claimsUsable(state cluster.State, namespace string, pods int) (d plan.Draft) {
	if claims := s.claimNames(); len(claims) > 0 && !state.Knows(cluster.VolumeClaims) {
		d.Unknown(state, VolumeUsable, cluster.VolumeClaims,
			"whether the pods can mount "+words.And(claims)+" could not be read")
		return d
	}
	for _, v := range s.Volumes {
		if v.Kind == volume.Claim {
			mount{&d, state, namespace, pods, v}.check()
		}
	}
	return d
}

// mount is a claim that the pods of a job mount.
type mount struct {
	*plan.Draft
	s         cluster.State
	namespace string
	pods      int
	volume    volume.Volume
}

func (m mount) check() {
	c, exists := m.s.VolumeClaim(m.namespace, m.volume.Source)
	switch {
	case !exists:
		m.missing()
	case c.Block:
		m.unusable("is a device without a file system", "volumeMode", "Block", "Filesystem",
			"Use a claim with volumeMode Filesystem.")
	case !m.volume.Mountable(c.Modes, m.pods):
		m.wrongMode(c)
	default:
		m.checkBinding(c)
	}
}

func (m mount) missing() {
	name := m.volume.Source
	var existing []string
	for _, c := range m.s.VolumeClaims {
		existing = append(existing, c.Name)
	}
	m.Fail(VolumeUsable, m.claim(), fmt.Sprintf("namespace %s has no claim %s", m.namespace, name),
		check.Observed("persistentvolumeclaims of "+m.namespace, plan.OrNone(existing), name),
		check.ByUser(words.DidYouMean(name, existing, "Create it, or name an existing one."), m.listClaims()))
}

// wrongMode refuses a claim that not all pods can mount.
func (m mount) wrongMode(c cluster.VolumeClaim) {
	why, want := "can be mounted on one node only, but the pods run on "+words.Count(m.pods, "node"), "ReadWriteMany"
	fix := "Use a claim with access mode ReadWriteMany, or ReadOnlyMany and :ro for data that is only read, or one pod."
	if slices.Contains(c.Modes, "ReadOnlyMany") {
		why, want = "can be mounted read-only, but the pods mount it to write", "ReadWriteMany, or --volume ...:ro"
		fix = fmt.Sprintf("Add :ro: --volume %s=pvc:%s:%s:ro", m.volume.Name, c.Name, m.volume.Path)
	}
	m.unusable(why, "access modes", strings.Join(c.Modes, ", "), want, fix)
}

func (m mount) unusable(why, source, got, want, fix string) {
	name := m.volume.Source
	m.Fail(VolumeUsable, m.claim(), fmt.Sprintf("claim %s %s", name, why),
		check.Observed("persistentvolumeclaim/"+name+" "+source, got, want), check.ByUser(fix, m.listClaims()))
}

// checkBinding warns if a claim has no volume, and a pod does not make it get one.
func (m mount) checkBinding(c cluster.VolumeClaim) {
	class, known := m.s.StorageClass(c.Class)
	status, summary := check.Warn, fmt.Sprintf("claim %s has no volume: the pods wait until it is bound", c.Name)
	switch {
	case c.Phase == "Bound", known && class.WaitsForPod:
		return
	case c.Phase == "Lost":
		status, summary = check.Fail, fmt.Sprintf("claim %s has lost its volume", c.Name)
	case c.Class != "" && !m.s.Knows(cluster.StorageClasses):
		m.Unknown(m.s, VolumeUsable, cluster.StorageClasses,
			fmt.Sprintf("whether claim %s, which has no volume yet, gets one with the first pod could not be read",
				c.Name))
		return
	}
	m.Report(check.Finding{
		Check: VolumeUsable, Status: status, Subject: m.claim(),
		Summary:  summary,
		Evidence: check.Observed("persistentvolumeclaim/"+c.Name+" status.phase", c.Phase, "Bound"),
		Fix: check.ByUser("See in its events why it is not bound.",
			fmt.Sprintf("kubectl -n %s describe persistentvolumeclaim %s", m.namespace, c.Name)),
	})
}

func (m mount) claim() check.Ref {
	return check.Ref{Kind: "persistentvolumeclaim", Namespace: m.namespace, Name: m.volume.Source}
}

func (m mount) listClaims() string {
	return "kubectl -n " + m.namespace + " get persistentvolumeclaims"
}

// volumes refuses volumes that exclude each other.
func (f *flagCheck) volumes() {
	var names, paths []string
	for _, mounted := range f.Storage.Volumes {
		if slices.Contains(names, mounted.Name) {
			f.wrong("--volume", mounted.Name, "a name that no other volume has", "Choose another name.")
		}
		if slices.Contains(paths, mounted.Path) || strings.HasPrefix(mounted.Path, "/railhead/") {
			f.wrong("--volume", mounted.Path, "a path that nothing else is mounted on", "Choose another path.")
		}
		names, paths = append(names, mounted.Name), append(paths, mounted.Path)
	}
}
