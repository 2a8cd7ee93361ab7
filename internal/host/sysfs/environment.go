package sysfs

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/host"
)

// envPrefixes and envNames are the variables that a Snapshot may hold: the allocation, the networks, the launcher.
// All other variables stay on the machine.
var (
	envPrefixes = []string{
		"PCIDEVICE_", "SRIOVNETWORK_", "NCCL_", "RCCL_", "UCX_", "NVSHMEM_", "GLOO_", "TP_SOCKET_", "TORCH_NCCL_",
		"OMPI_MCA_btl", "OMPI_MCA_pml", "FI_", "OFI_NCCL_", "RAILHEAD_",
	}
	envNames = map[string]bool{
		"HOSTNAME": true, "NODE_NAME": true, "KUBERNETES_NODE_NAME": true, "POD_NAME": true, "POD_NAMESPACE": true,
		"DRA_RESOURCE_DRIVER_NAME": true, "MASTER_ADDR": true, "MASTER_PORT": true, "WORLD_SIZE": true, "RANK": true,
		"LOCAL_RANK": true, "NODE_RANK": true, "LOCAL_WORLD_SIZE": true, "CUDA_VISIBLE_DEVICES": true,
		"NVIDIA_VISIBLE_DEVICES": true, "NVIDIA_DRIVER_CAPABILITIES": true, "HIP_VISIBLE_DEVICES": true,
		"LD_LIBRARY_PATH": true, "VIRTUAL_ENV": true, "CONDA_PREFIX": true, "PATH": true,
	}
)

// maxEnvValue bounds one value: execve itself allows 128 KiB (MAX_ARG_STRLEN).
const maxEnvValue = 128 << 10

// withDashed adds variables whose names have a dash, of the container's first process.
func withDashed(own []string, first string) []string {
	for entry := range strings.SplitSeq(first, "\x00") {
		name, _, _ := strings.Cut(entry, "=")
		has := func(e string) bool { return strings.HasPrefix(e, name+"=") }
		if strings.Contains(name, "-") && !slices.ContainsFunc(own, has) {
			own = append(own, entry)
		}
	}
	return own
}

// readEnvironment reads the allow-listed variables of this process, or of a captured /proc/self/environ.
func readEnvironment(in *input, s *host.Snapshot) {
	if in.probes.Environ != nil {
		s.Env = allowedEnv(in.probes.Environ())
		return
	}
	s.Env = allowedEnv(strings.Split(in.file("proc/self/environ").Value, "\x00"))
}

func allowedEnv(all []string) map[string]string {
	env := map[string]string{}
	for _, entry := range all {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || !allowedName(name) && !pluginPair(name, value, all) {
			continue
		}
		if len(value) > maxEnvValue {
			value = value[:maxEnvValue]
		}
		env[name] = withoutSecrets(value)
	}
	return env
}

func allowedName(name string) bool {
	return envNames[name] || slices.ContainsFunc(envPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// pluginPair accepts NAME_INFO and NAME of a device plugin with another prefix, by the content of NAME_INFO.
func pluginPair(name, value string, all []string) bool {
	if strings.HasSuffix(name, "_INFO") {
		return isPluginInfo(value)
	}
	prefix := name + "_INFO="
	for _, entry := range all {
		if info, ok := strings.CutPrefix(entry, prefix); ok && isPluginInfo(info) {
			return len(host.FindPCIAddresses(value)) > 0
		}
	}
	return false
}

// isPluginInfo recognises the JSON of the SR-IOV device plugin (pkg/infoprovider): {"<device>":{"generic":{...}}}.
func isPluginInfo(value string) bool {
	return strings.HasPrefix(strings.TrimSpace(value), `{"`) && strings.Contains(value, `"generic"`)
}

// withoutSecrets redacts the values of JSON keys that are credentials, such as the VFIO_TOKEN that the device plugin's
// "extra" section carries. It also works on truncated JSON.
func withoutSecrets(value string) string {
	parts := strings.Split(value, `"`) // {"key":"value"}
	for i := 2; i < len(parts); i++ {
		if parts[i-1] == ":" && isSecretName(parts[i-2]) {
			parts[i] = "redacted"
		}
	}
	return strings.Join(parts, `"`)
}

func isSecretName(key string) bool {
	words := []string{"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToUpper(key), word) })
}

// allowed reduces the content of a file to the part that a recording may have.
func allowed(name, content string, uid int) string {
	if keep := allowedLines(name, uid); keep != nil {
		var b strings.Builder
		for line := range strings.Lines(content) {
			if keep(line) {
				b.WriteString(line)
			}
		}
		return b.String()
	}
	switch {
	case name == "proc/self/environ":
		return "" // the allow-listed part is kept with the answers of the probes
	case strings.HasPrefix(name, "etc/crio/"):
		return crioUlimits(content)
	case isProcessFile(name, "/stat"):
		return identityOnly(content)
	case strings.HasPrefix(name, pciDevices), strings.HasPrefix(name, "sys/devices/pci"):
		if path.Base(name) == "config" {
			return formatConfigSpace(content)
		}
	}
	return content
}

func isProcessFile(name, file string) bool {
	return strings.HasPrefix(name, "proc/") && strings.HasSuffix(name, file)
}

// allowedLines returns a filter for a file if only some of its lines may be recorded, and nil for all other files.
func allowedLines(name string, uid int) func(line string) bool {
	beginning := func(prefixes ...string) func(string) bool {
		return func(line string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) })
		}
	}
	switch {
	case name == podAnnotations:
		return beginning(networkStatusKey)
	case name == "etc/passwd": // for the home folder of this user
		return func(line string) bool {
			f := strings.Split(line, ":")
			return len(f) > 2 && f[2] == strconv.Itoa(uid)
		}
	case name == "proc/meminfo":
		return beginning("MemTotal:")
	case name == "proc/self/status":
		return beginning("Uid:", "Cap", "NoNewPrivs:")
	case isProcessFile(name, "/cgroup"):
		return func(line string) bool { return podOf(line) != "" }
	case isProcessFile(name, "/status"):
		return beginning("CapEff:")
	case strings.Contains(name, "containerd.service"):
		return func(line string) bool {
			line = strings.TrimSpace(line)
			return strings.HasPrefix(line, "[") || strings.HasPrefix(line, unitMemlock)
		}
	case strings.HasSuffix(name, "ccl.conf"): // of NCCL and RCCL
		return beginning("NCCL_")
	}
	return nil
}
