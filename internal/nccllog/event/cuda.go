package event

import (
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

// readCUDA reads "Cuda failure 2 'out of memory'" and "HIP failure 'invalid argument'"; up to 2.19 there is no number.
func readCUDA(e *Event, text, where string) bool {
	low := find.Lower(text)
	text = text[max(strings.Index(low, "cuda failure"), strings.Index(low, "hip failure")):]
	e.Name = find.Between(text, "'", "'")
	for _, word := range strings.Fields(strings.NewReplacer(":", " ", "'", " ").Replace(text)) {
		if n, ok := prefix.Whole([]byte(word)); ok {
			e.Code = n
			break
		}
	}
	e.Kind = GPUNotReady
	if !isNotReady(e.Name, e.Code) {
		e.Kind = kindOfCUDA(e.Name, e.Code, low, where)
	}
	e.detail(OverFabric, slices.Contains([]int{101, 400, 401, 800, 801}, e.Code) && slices.ContainsFunc(
		[]string{"p2p.cc", "nvls.cc", "mnnvl.cc", "multicast.cc"}, func(f string) bool { return IsSource(where, f) }))
	return true
}

// kindOfCUDA tells the errors of CUDA apart by their names and numbers (driver_types.h).
func kindOfCUDA(name string, code int, low, where string) Kind {
	switch {
	case strings.Contains(name, "driver shutting down"): // at the end of a process
		return Consequence
	case strings.Contains(name, "out of memory") || code == 2 && name == "":
		return OutOfMemory
	case strings.Contains(low, "nvls") || IsSource(where, "nvls.cc") || IsSource(where, "multicast.cc"):
		return NVLSFailed
	case find.Any(name, "peer access", "mapping of buffer object failed") || code == 217 || code == 205:
		return PeerAccess
	case isInstall(name, code):
		return CUDAInstall
	case !IsSource(where, "p2p.cc") && !IsSource(where, "p2p.cu"):
		return CUDAFailed
	case find.Any(name, "invalid device ordinal", "invalid resource handle", "invalid device context"),
		slices.Contains([]int{101, 400, 201}, code):
		return PeerAccess
	}
	return CUDAFailed
}

// isInstall reports whether an error is one of the driver or the libraries, not of the program (driver_types.h).
func isInstall(name string, code int) bool {
	return find.Any(name,
		"driver version is insufficient", "no CUDA-capable device",
		"forward compatibility", "system has unsupported display driver", "PTX was compiled", "no kernel image",
		"invalid device function", "initialization error", "API call is not supported in the installed",
		"shared object initialization failed",
	) || !strings.Contains(name, "unknown error") &&
		slices.Contains([]int{3, 35, 36, 98, 100, 209, 222, 803, 804}, code)
}

// notReadyWords are the names of CUDA error 802, which the driver returns on machines with NVSwitch until Fabric
// Manager of its own version has set up the links between the GPUs (driver_types.h; Fabric Manager User Guide).
var notReadyWords = []string{
	"system not yet initialized", "CUDA_ERROR_SYSTEM_NOT_READY", "cudaErrorSystemNotReady",
}

func isNotReady(name string, code int) bool { return code == 802 || find.Any(name, notReadyWords...) }

var cudaPrefixes = []string{
	"CUDA error: ", "HIP error: ", "CUDA failure: ", "Test CUDA failure", "CUDA driver error: ",
	"cuda runtime error (", // PyTorch up to 1.4: "cuda runtime error (39) : uncorrectable ECC error encountered at ..."
}

// readPrintedCUDA reads an error of CUDA or HIP that a program printed after one of cudaPrefixes: its name, and the
// rank in the text. The signatures of both kinds of error share it, so it sets the kind.
func readPrintedCUDA(e *Event, text, _ string) bool {
	for _, prefix := range cudaPrefixes {
		if _, name, ok := strings.Cut(text, prefix); ok {
			// "39) : uncorrectable ECC error"
			if _, rest, numbered := strings.Cut(name, ") : "); numbered && prefix == "cuda runtime error (" {
				name = rest
			}
			name = strings.TrimSpace(name)
			e.Kind, e.Number, e.Name = CUDAError, rankIn(text), find.Cut(name, 100)
			if isInstall(name, 0) { // no code: the name decides
				e.Kind = CUDAInstall
			}
			return true
		}
	}
	return false
}

const cudaText = "Error text: "

// readCUDAText reads the text of an error of a kernel; other errors have such a field, too.
func readCUDAText(e *Event, text, _ string) bool {
	_, name, _ := strings.Cut(text, cudaText)
	e.Number, e.Name = rankIn(text), find.Cut(strings.TrimSpace(name), 100)
	return find.Any(e.Name, stickyWords...)
}

var cudaLibraryWords = []string{
	"error while loading shared libraries: libcu", "libcudart.so",
	"error while loading shared libraries: libnccl", "undefined symbol: nccl", "Found no NVIDIA driver",
	"The NVIDIA driver on your system is too old", "Failed to initialize NVML",
	"driver/library version mismatch", "No CUDA GPUs are available", "CUDA unknown error",
	"libnccl.so.2: cannot open shared object", "Unable to load NCCL library", "libnvidia-ml.so",
	"system has unsupported display driver / cuda driver combination", "NVIDIA-SMI has failed",
	"nvidia-container-cli: initialization error",
}

func readCUDALibrary(e *Event, text, _ string) bool {
	e.Number, e.Name = rankIn(text), find.First(text, cudaLibraryWords)
	return find.Any(text, "rror", "cannot open", "ailed", ".so: undefined symbol: ")
}

func readGPUMemory(e *Event, text, _ string) bool {
	e.Number = rankIn(text)
	return strings.Contains(find.Lower(text), "cuda") || find.Any(text, "HIP out of memory", vllmMemory)
}

// vllmMemory is in the exception of vLLM that does not start because other processes hold the memory of a GPU.
const vllmMemory = "is less than desired GPU memory utilization"
