package clusterrules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// claiming returns a check of pods with claims, which is skipped if claims were not read.
func claiming(run func(view) []check.Finding) func(view) []check.Finding {
	return func(v view) []check.Finding {
		hasClaims := func(p cluster.Pod) bool { return len(p.Claims) > 0 }
		switch {
		case !v.state.Knows(cluster.Pods):
			return skip(whyUnread(v.state, cluster.Pods))
		case !slices.ContainsFunc(detailed(v.state), hasClaims):
			return nil
		case !v.state.Knows(cluster.ResourceClaims):
			return skip(whyUnread(v.state, cluster.ResourceClaims))
		}
		return run(v)
	}
}

// claimsOf returns the claims of a pod.
func claimsOf(s cluster.State, p cluster.Pod) []cluster.ResourceClaim {
	return slices.DeleteFunc(slices.Clone(s.ResourceClaims), func(c cluster.ResourceClaim) bool {
		return c.Namespace != p.Namespace || c.Pod != p.Name && !slices.Contains(c.Users, p.Name)
	})
}

// claimedDevices finds claimed devices that are not ready in the pod, as their driver reports. dranet reports
// NetworkDeviceReady, NetworkReady and, where a device belongs to one network namespace, RDMALinkReady
// (kubernetes-sigs/dranet pkg/driver/nri_hooks.go).
func claimedDevices(v view) []check.Finding {
	var findings []check.Finding
	for _, p := range detailed(v.state) {
		for _, c := range claimsOf(v.state, p) {
			for _, condition := range c.Conditions {
				if condition.Status == "False" {
					findings = append(findings, deviceNotReady(p, c, condition))
				}
			}
		}
	}
	return findings
}

func deviceNotReady(p cluster.Pod, c cluster.ResourceClaim, condition cluster.DeviceCondition) check.Finding {
	why := strings.Trim(condition.Reason+": "+condition.Message, ": ")
	return check.Finding{
		Check: ClaimedDevice, Status: check.Fail, Subject: check.PodRef(p.Namespace, p.Name),
		About: []check.Ref{check.NodeRef(p.Node)},
		Summary: fmt.Sprintf("device %s, which pod %s claims, is not ready: %s is false (%s)",
			condition.Device, p.Name, condition.Type, why),
		Evidence: []check.Evidence{{
			Source: "resourceclaim/" + c.Name + " status.devices",
			Got:    condition.Type + "=False " + why,
			Want:   "True",
		}},
		Fix: check.ByAdmin("Read the log of driver "+condition.Driver+" on node "+p.Node+", then start the pod again.",
			"kubectl get pods -A -o wide --field-selector spec.nodeName="+p.Node,
			fmt.Sprintf("kubectl -n %s get resourceclaim %s -o yaml", c.Namespace, c.Name)),
	}
}

// claimedRails finds jobs whose pods claimed devices of different rails: then NCCL connects a port with one of another
// rail.
func claimedRails(v view) []check.Finding {
	of, jobs := map[string]map[string][]string{}, []string{} // by job, and by rails: pods
	refs := map[string][]check.Ref{}
	for _, p := range detailed(v.state) {
		rails, known := railsOfClaims(v.state, p)
		if !known || len(rails) == 0 {
			continue
		}
		job := p.Namespace + "/" + JobOf(p)
		if of[job] == nil {
			of[job], jobs = map[string][]string{}, append(jobs, job)
		}
		key := strings.Join(rails, ", ")
		of[job][key] = append(of[job][key], p.Name)
		refs[job] = append(refs[job], check.PodRef(p.Namespace, p.Name))
	}
	var findings []check.Finding
	for _, job := range jobs {
		if len(of[job]) > 1 {
			findings = append(findings, differentRails(job, of[job], refs[job]))
		}
	}
	return findings
}

// railsOfClaims returns the rails that a pod got by claims, sorted; not known if a device is in no ResourceSlice.
func railsOfClaims(s cluster.State, p cluster.Pod) (rails []string, known bool) {
	for _, c := range claimsOf(s, p) {
		for _, d := range c.Devices {
			if d.Driver == cluster.DRAGPU || d.Driver == cluster.DRAIMEX {
				continue
			}
			rail := s.RailOfDevice(d)
			if rail == "" {
				return nil, false
			}
			rails = append(rails, rail)
		}
	}
	slices.SortFunc(rails, words.Natural)
	return rails, true
}

func differentRails(job string, pods map[string][]string, refs []check.Ref) check.Finding {
	namespace, name, _ := strings.Cut(job, "/")
	f := check.Finding{
		Check: ClaimedRails, Status: check.Warn, About: refs,
		Subject: check.Ref{Kind: check.Job, Namespace: namespace, Name: name[strings.Index(name, "/")+1:]},
		Summary: fmt.Sprintf("the pods of %s claimed different rails: NCCL connects ports of different rails, "+
			"which cross more switches or cannot reach each other", name),
		Fix: check.ByUser("Select each rail by its name in the claim, one request for each, as deploy does.",
			"railhead deploy NAME --claims", "railhead inject -f FILE --claims"),
	}
	for rails, of := range pods {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "pods " + words.Few(of, 4), Got: rails})
	}
	slices.SortFunc(f.Evidence, func(a, b check.Evidence) int { return words.Natural(a.Source, b.Source) })
	return f
}
