package pods

import "github.com/railhead/railhead/internal/check"

// The pods on a node that install the NVIDIA driver, its container toolkit and the plugins of DRA drivers.
const nvidiaPods = "kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep -E 'nvidia|dra'"

var (
	// namesCDI prints the devices of each file: KIND=NAME is a device.
	namesCDI = `oc debug node/{node} -- grep -rE '"?(kind|name)"?:' /host/etc/cdi /host/var/run/cdi`

	listCDI = "oc debug node/{node} -- ls -l /host/etc/cdi /host/var/run/cdi"
	listGPU = "oc debug node/{node} -- chroot /host nvidia-smi -L"
)

// injections are the kinds of messages of the container runtime, of the Container Device Interface (CDI,
// container-device-interface pkg/cdi), of the NVIDIA Container Toolkit and of libnvidia-container's
// nvidia-container-cli about devices that they put into a container.
var injections = []kind{
	{
		words:   anyOf(`unresolvable CDI devices? ([^\s,]*[^\s,:])`),
		summary: "the CDI specifications on {on} do not give {1}, a device that {pod} was given",
		fix: check.ByAdmin("See which file describes it. None: restart the pod on that node that writes the "+
			"specifications, nvidia-container-toolkit or the plugin of the DRA driver; a device plugin and a toolkit "+
			"of different releases may also name devices differently. Two files of one folder: then neither counts, "+
			"so remove one; a restart does not help. One file: it is not valid, so all of its devices are missing; "+
			"write it again.", namesCDI, listCDI, nvidiaPods),
		example: `CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0`,
	},
	{
		words:   anyOf(`failed to stat CDI host device "([^"]+)"`, `injection failed: .*stat "?(/dev/[^":\s]+)`),
		summary: "a CDI specification on {on} names {1}, which the node does not have",
		fix: check.ByAdmin("The specification is older than the driver: restart the pod that writes it, or write it "+
			"again with nvidia-ctk cdi generate.", listCDI, nvidiaPods),
		example: `setting up CDI devices: failed to inject devices: failed to stat CDI host device ` +
			`"/dev/nvidia-modeset"`,
	},
	{
		words: anyCase(`no runtime for "([^"]+)" is configured`, `runtime ?handler "?([\w-]+)"? (?:is )?not supported`,
			`failed to find runtime handler (\S+)`, `unknown runtime handler "?([\w-]+)`),
		summary: `the container runtime of {on} does not know the runtime "{1}" of the pod's runtime class`,
		fix: check.ByAdmin("nvidia-container-toolkit adds it to the configuration of the container runtime, which "+
			"must then restart. Check that its pod is ready on that node.", nvidiaPods),
		example: `failed to get sandbox runtime: no runtime for "nvidia" is configured`,
	},
	{
		words:   anyOf(`requirement error: unsatisfied condition: ([^,]+)`),
		summary: "the image of {pod} requires {1}, and the NVIDIA driver of {on} is older",
		fix:     check.ByUser("Use an image for the driver's CUDA version, or nodes with a newer driver.", listGPU),
		example: `nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your ` +
			`driver`,
		lasts: true,
	},
	{
		words:   anyCase(`driver/library version mismatch`),
		summary: "the NVIDIA driver of {on} was updated while its old kernel modules are still loaded",
		fix:     check.ByAdmin("Reboot the node, or unload the old modules.", nvidiaPods),
		example: `nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown`,
		lasts:   true,
	},
	{
		words:   anyOf(`nvidia-container-cli\S* device error: (\S+): unknown device`),
		summary: "the NVIDIA driver of {on} does not know {1}, the GPU that the device plugin gave {pod}",
		fix: check.ByAdmin("Compare with the GPUs that the driver lists. If one is missing, it failed; if MIG devices "+
			"were made again, restart the device plugin.", listGPU, nvidiaPods),
		example: `nvidia-container-cli: device error: GPU-e78e68c0: unknown device: unknown`,
	},
	{
		words: anyCase(`nvidia-container-cli\S* (?:initialization error|.*driver (?:rpc )?error|.*load library failed)`,
			`libnvidia-ml\.so\S*: cannot open`, `nvml: driver not loaded`),
		summary: "the NVIDIA driver of {on} does not answer: {quote}",
		fix: check.ByAdmin("Find out why the driver does not run: its pod may still build or load it, or its kernel "+
			"modules do not match.", listGPU, nvidiaPods),
		example: `nvidia-container-cli: initialization error: driver rpc error: failed to process request: unknown`,
	},
	{
		words:   anyOf(`nvidia-container-cli\S* .*cgroup`),
		summary: "nvidia-container-cli on {on} cannot allow the GPUs in the container's cgroup: {quote}",
		fix: check.ByAdmin("With cgroup v2 it must be of libnvidia-container 1.8 or later: update "+
			"nvidia-container-toolkit.", nvidiaPods),
		example: `nvidia-container-cli: container error: cgroup subsystem devices not found: unknown`,
		lasts:   true,
	},
	{
		words:   anyOf(`(?:custom device|gathering device information).*?(/dev/[\w/-]+)`),
		summary: "{on} has no {1}, a device that {pod} was given",
		fix: check.ByAdmin("The device plugin lists devices from before the driver restarted: restart its pod on that "+
			"node.", "kubectl get pods -A -o wide --field-selector spec.nodeName={node} | grep device-plugin"),
		example: `error gathering device information while adding custom device "/dev/infiniband/uverbs0": no such ` +
			`file`,
	},
	{
		words: anyCase(`nvidia-container-(?:cli|runtime)`, `\bnvidia-ctk\b`, `\bCDI devices?\b`,
			`required modification to OCI spec`),
		summary: "the container runtime of {on} could not put the devices into a container of {pod}: {quote}",
		fix: check.ByAdmin("Check the NVIDIA Container Toolkit on that node, and its driver.",
			nvidiaPods, listGPU),
		example: `nvidia-container-cli: ldcache error: process /sbin/ldconfig failed with error code: 127`,
	},
}
