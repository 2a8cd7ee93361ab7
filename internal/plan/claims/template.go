package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/podspec"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

// Name is the name of the claim in a pod.
const Name = "rails"

// deviceClaim returns the requests for the rails, and for the GPUs if they are claimed, too.
func (c *chooser) deviceClaim(rails []cluster.Rail) resourcev1.DeviceClaim {
	var spec resourcev1.DeviceClaim
	class := c.deviceClass(rails[0].Driver)
	for i, r := range rails {
		name := fmt.Sprintf("rail-%d", i)
		request := resourcev1.ExactDeviceRequest{
			DeviceClassName: class,
			Selectors: []resourcev1.DeviceSelector{{
				CEL: &resourcev1.CELDeviceSelector{Expression: c.expression(r)},
			}},
		}
		spec.Requests = append(spec.Requests, resourcev1.DeviceRequest{Name: name, Exactly: &request})
		if r.Driver == cluster.DRASriov {
			spec.Config = append(spec.Config, c.interfaceConfig(r, name, i))
		}
	}
	if c.GPUs > 0 {
		c.requestGPUs(&spec, rails)
	}
	return spec
}

// Devices counts the claimed devices of a pod by device class.
func (c Claim) Devices() map[string]int64 {
	perClass := map[string]int64{}
	for _, r := range c.spec.Requests {
		perClass[r.Exactly.DeviceClassName] += max(r.Exactly.Count, 1)
	}
	return perClass
}

// expression selects the RDMA devices of a rail.
func (c *chooser) expression(r cluster.Rail) string {
	rdma := map[string]string{cluster.DRANet: "rdma", cluster.DRASriov: "rdmaCapable"}[r.Driver]
	of := `device.attributes["` + r.Driver + `"].` + rdma
	return "has(" + of + ") && " + of + " && " + r.Selector()
}

// deviceClass returns the class of a driver's devices, and fails if there is none.
func (c *chooser) deviceClass(driver string) string {
	class, found := c.s.ClassOf(driver)
	if !found {
		var names []string
		for _, c := range c.s.DeviceClasses {
			names = append(names, c.Name)
		}
		c.Fail(plan.RailsAttached, c.Job.Ref(), "no device class has the devices of "+driver,
			check.Observed("deviceclasses", plan.OrNone(names), `one with the selector device.driver == "`+driver+`"`),
			check.ByAdmin("Let setup create it.", c.Job.SetUpCommand()))
	}
	return class
}

// requestGPUs adds the GPUs. If the nodes can provide them that way, each rail gets GPUs on its own PCIe root.
func (c *chooser) requestGPUs(spec *resourcev1.DeviceClaim, rails []cluster.Rail) {
	class, each := c.deviceClass(cluster.DRAGPU), c.GPUs/len(rails)
	request := func(name string, count int) {
		exactly := resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: int64(count)}
		spec.Requests = append(spec.Requests, resourcev1.DeviceRequest{Name: name, Exactly: &exactly})
	}
	if each*len(rails) != c.GPUs || slices.ContainsFunc(c.Nodes, func(node string) bool {
		return c.claim.Lacks(c.s, node) == "" && !c.aligned(node, rails, each)
	}) {
		request("gpus", c.GPUs)
		c.Note("GPUs and rails are claimed without regard to their PCIe roots: the nodes cannot give %s of its root "+
			"with each of %s.", words.Count(max(each, 1), "GPU"), words.Count(len(rails), "rail"))
		return
	}
	for i := range rails {
		gpu := fmt.Sprintf("gpu-%d", i)
		request(gpu, each)
		spec.Constraints = append(spec.Constraints, resourcev1.DeviceConstraint{
			Requests:       []string{gpu, fmt.Sprintf("rail-%d", i)},
			MatchAttribute: new(resourcev1.FullyQualifiedName(cluster.PCIeRoot)),
		})
	}
}

// aligned reports whether a node has enough GPUs on the PCIe root of each rail.
func (c *chooser) aligned(node string, rails []cluster.Rail, each int) bool {
	left := c.s.GPUsByRoot(node)
	for _, r := range rails {
		roots := c.s.RootsOf(r, node)
		if len(roots) != 1 || roots[0] == "" || left[roots[0]] < each {
			return false
		}
		left[roots[0]] -= each
	}
	return true
}

// interfaceConfig names the attachment by which dra-driver-sriov sets up the interface of a rail (its VfConfig; the
// driver ignores a configuration without requests).
func (c *chooser) interfaceConfig(r cluster.Rail, request string, i int) resourcev1.DeviceClaimConfiguration {
	var all, ofRail []string
	for _, n := range c.s.Networks {
		if n.Namespace == c.Job.Namespace && slices.Contains([]string{"sriov", "ib-sriov"}, n.Type) {
			all = append(all, n.Name)
			if n.Name == r.Network || strings.HasSuffix(n.Name, "-"+r.Network) {
				ofRail = append(ofRail, n.Name)
			}
		}
	}
	if len(ofRail) == 0 {
		ofRail = all
	}
	if len(ofRail) != 1 {
		c.Fail(plan.RailsAttached, c.Job.NamespaceRef(), "the interface of rail "+r.Network+" cannot be set up: "+
			"dra-driver-sriov takes its settings from an attachment, and none is named like the rail",
			check.Observed("network-attachment-definitions of "+c.Job.Namespace, plan.OrNone(all),
				"*-"+r.Network+", or one"),
			check.ByAdmin("Create an attachment of type sriov for each rail, with the rail at the end of its name."))
		return resourcev1.DeviceClaimConfiguration{}
	}
	parameters, _ := json.Marshal(map[string]string{ // always marshals
		"apiVersion":       cluster.DRASriov + "/v1alpha1",
		"kind":             "VfConfig",
		"ifName":           fmt.Sprintf("net%d", i+1),
		"netAttachDefName": ofRail[0],
	})
	config := resourcev1.DeviceClaimConfiguration{Requests: []string{request}}
	config.Opaque = &resourcev1.OpaqueDeviceConfiguration{
		Driver:     cluster.DRASriov,
		Parameters: runtime.RawExtension{Raw: parameters},
	}
	return config
}

func (c *chooser) noteClaims(rails []cluster.Rail) {
	why := ""
	if !c.Flag {
		why = ", because namespace " + c.Job.Namespace + " has no network attachment"
	}
	c.Note("The pods claim their rails from the DRA driver %s%s: %s. Every pod gets the same ones.",
		rails[0].Driver, why, words.Few(cluster.RailNames(rails), 8))
}

// templatePrefix starts the names of the ResourceClaimTemplates of a job.
func templatePrefix(name string) string { return name + "-" + Name + "-" }

// Template returns the ResourceClaimTemplate of the pods of a job. Its name has a hash, because it cannot be changed
// (kubernetes pkg/apis/resource/validation ValidateResourceClaimTemplateUpdate).
func (c Claim) Template(job plan.Target) unstructured.Unstructured {
	text, _ := json.Marshal(c.spec) // always marshals
	sum := sha256.Sum256(text)
	template := resourcev1.ResourceClaimTemplate{}
	template.Name = templatePrefix(job.Name) + hex.EncodeToString(sum[:4])
	template.Namespace = job.Namespace
	template.Labels = plan.Labels(workload.ComponentJob, job.Name)
	template.Spec.Spec.Devices = c.spec
	return plan.Typed(resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), &template)
}

// Changes writes the ResourceClaimTemplate unless the job's live workload uses it already, and deletes one that it used
// before.
func (c Claim) Changes(job plan.Target, live map[string]any) (before, after []plan.Change) {
	used := TemplatesOf(live, job.Name)
	name := ""
	if len(c.Rails) > 0 {
		template := c.Template(job)
		if name = template.GetName(); !slices.Contains(used, name) {
			before = []plan.Change{{Verb: plan.Apply, Object: template, Why: "claims the rails of each pod"}}
		}
	}
	for _, old := range used {
		if old != name {
			after = append(after, Deletion(job.Namespace, old))
		}
	}
	return before, after
}

// Deletion returns the change that deletes a ResourceClaimTemplate.
func Deletion(namespace, name string) plan.Change {
	return plan.Deletion(cluster.Object{
		APIVersion: resourcev1.SchemeGroupVersion.String(),
		Kind:       "ResourceClaimTemplate",
		Namespace:  namespace,
		Name:       name,
	}, "claims rails for no pod any more")
}

// TemplatesOf returns the ResourceClaimTemplates of a job that an object names.
func TemplatesOf(fields map[string]any, job string) []string {
	return slices.DeleteFunc(podspec.Referenced(fields, "resourceClaimTemplateName"), func(name string) bool {
		return !strings.HasPrefix(name, templatePrefix(job))
	})
}

// Has reports whether a pod has the claim of a job.
func Has(spec map[string]any, job string) bool {
	claim := podspec.Named(podspec.Items(spec["resourceClaims"]), Name)
	template, _ := claim["resourceClaimTemplateName"].(string)
	return strings.HasPrefix(template, templatePrefix(job))
}

// Add adds the claim of a template to a pod, and to the container that trains.
func Add(spec, main map[string]any, template string) {
	spec["resourceClaims"] = podspec.With(spec["resourceClaims"], "name", map[string]any{
		"name":                      Name,
		"resourceClaimTemplateName": template,
	})
	resources := podspec.Child(main, "resources")
	resources["claims"] = podspec.With(resources["claims"], "name", map[string]any{"name": Name})
}
