package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/words"
)

// causesOf returns the causes that explain one failure, the most probable first.
func (run *explainer) causesOf(e event.Event) []candidate {
	switch e.Kind {
	case event.BadCompletion:
		return run.completionCauses(e)
	case event.AsyncEvent:
		return run.asyncCauses(e)
	case event.VerbsFailed:
		return run.verbsCauses(e)
	case event.ConnectFailed, event.SocketFailed, event.Rendezvous:
		return run.socketCauses(e)
	case event.CUDAFailed, event.CUDAError, event.Xid, event.OutOfMemory, event.CUDAInstall,
		event.GPUNotReady, event.DuplicateGPU, event.NVLSFailed, event.PeerAccess:
		return run.gpuCauses(e)
	case event.OFIFailed, event.OFINoProvider, event.OFIRegister, event.OFICompletion, event.GDRCopyFailed:
		return run.ofiCauses(e)
	case event.SizesDiffer:
		return run.sizesCauses(e)
	case event.WrongSocket, event.LayersDiffer, event.VersionsDiffer, event.Truncated, event.CannotOpen,
		event.GIDUnreadable:
		return run.asymmetryCauses(e)
	case event.NoInterface:
		return run.interfaceCauses(e)
	case event.NoNetworkLeft:
		return run.noNetworkCauses(e)
	case event.ShmFailed:
		return run.shmCauses(e)
	case event.RankMissing, event.RanksDiffer:
		return run.rasCauses(e)
	default:
	}
	return run.listedCause(e)
}

// listedCause returns the cause that the kind or the signature of an event names, or that a process ended.
func (run *explainer) listedCause(e event.Event) []candidate {
	who := run.who(e)
	switch e.Kind {
	case event.WrongResults:
		return one(UnknownCause, Possible, "nccl-tests found wrong results, or less bandwidth than NCCL_TESTS_MIN_BW",
			e)
	case event.Complaint, event.FailureWords:
		return one(UnknownCause, Possible, who+" logged an error that railhead does not know", e)
	case event.Warning:
		return one(UnknownCause, Possible, who+" returned an error after a warning that railhead does not know", e)
	case event.OOMKill:
		return one(PeerDied, Likely, fmt.Sprintf("%s was killed because its host ran out of memory (not the GPU); "+
			"all others lost their connection to it", who), e)
	case event.Exception, event.Exit, event.Aborted, event.TimeLimit, event.Restarted:
		if run.origins[e.Seq] {
			return run.endCauses(e)
		}
	case event.Listed, event.FailedOver, event.FailoverFailed, event.TopologyUnread,
		event.Stalled, event.Recoverable:
		if s := event.SignatureOf(e); s.Cause != "" {
			return one(s.Cause, s.Confidence, who+": "+s.What, e)
		}
	default:
	}
	return nil
}

// shmCauses: NCCL up to 2.23 writes the files itself; later ones, and other reasons than space, have an errno.
func (run *explainer) shmCauses(e event.Event) []candidate {
	c := one(ShmTooSmall, Likely, run.who(e)+" could not create its shared memory", e)
	switch {
	case e.Code == 28:
		c[0].confidence, c[0].summary = Certain, run.who(e)+" found no space left in shared memory"
	case e.Code == 13 || e.Code == 1:
		c[0].confidence, c[0].summary = Possible, run.who(e)+" is not allowed to write to /dev/shm"
	}
	return c
}

func (run *explainer) gpuCauses(e event.Event) []candidate {
	detail := run.who(e) + ": " + what(e)
	switch e.Kind {
	case event.OutOfMemory:
		return one(GPUOOM, Certain, detail, e)
	case event.CUDAInstall:
		return one(CUDAInstall, Likely, run.who(e)+": "+cmp.Or(e.Name, "the driver or the library is missing"), e)
	case event.GPUNotReady:
		return one(FabricManager, Likely, run.who(e)+": CUDA error 802, system not yet initialized", e)
	case event.DuplicateGPU:
		return one(DuplicateGPU, Certain, "NCCL says which ranks share which GPU", e)
	case event.NVLSFailed:
		return one(NVLS, Likely, run.who(e)+" failed in NVLS"+parenthesis(e.Name), e)
	case event.PeerAccess:
		return one(PeerAccess, Likely, run.who(e)+" failed to map another GPU's memory"+parenthesis(e.Name), e)
	case event.Xid:
		return one(CUDAError, Likely, fmt.Sprintf("the driver reported Xid %d", e.Code), e)
	default:
	}
	return one(CUDAError, cudaConfidence(e), detail, e)
}

// cudaConfidence: an error of a kernel stands for itself; an invalid argument or a system error may have been caused.
func cudaConfidence(e event.Event) Confidence {
	for _, words := range []string{"illegal memory access", "launch failure", "device-side assert", "misaligned",
		"ECC", "illegal instruction", "uncorrectable"} {
		if strings.Contains(e.Name, words) {
			return Certain
		}
	}
	return Likely
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func (run *explainer) ofiCauses(e event.Event) []candidate {
	switch e.Kind {
	case event.GDRCopyFailed:
		return one(GDRCopyMissing, Likely, run.who(e)+" could not open GDRCopy, which "+
			"device-initiated networking (GIN) needs", e)
	case event.OFIRegister:
		return slices.Concat(
			one(OFIMRRegister, Likely, run.who(e)+" could not register a buffer with libfabric", e),
			one(Memlock, Possible, "the provider pins what it registers", e),
		)
	case event.OFICompletion:
		switch {
		case strings.Contains(e.Text, "Inappropriate ioctl"):
			return slices.Concat(
				one(ProviderRace, Likely, run.who(e)+" got a completion with an undocumented error", e),
				one(PeerUnreachable, Possible, "the receiver may not answer", e),
			)
		case strings.Contains(e.Text, "nresponsive") || strings.Contains(e.Text, "nreachable") ||
			strings.Contains(e.Text, "not reach"):
			return slices.Concat(
				one(PeerUnreachable, Likely, run.who(e)+" got no answer from the receiver", e),
				one(Firewall, Possible, "EFA needs a security group that allows all traffic to and from itself", e),
				one(PeerDied, Possible, "the receiver may have ended first", e),
			)
		}
		return slices.Concat(
			one(PeerUnreachable, Possible, run.who(e)+" got a completion with an error", e),
			one(PeerDied, Possible, "the peer may have ended first", e),
		)
	case event.OFIFailed:
		if event.SignatureOf(e).Cause == UnknownCause {
			return one(UnknownCause, Possible, run.who(e)+" found a provider of libfabric and could not use it", e)
		}
	default:
	}
	return slices.Concat(
		one(OFINoProvider, Likely, run.who(e)+" could not set up the OFI plugin", e),
		one(NoIBDevice, Possible, "the pod may have no EFA device", e),
	)
}

// asymmetryCauses judges two ends that do not fit together.
func (run *explainer) asymmetryCauses(e event.Event) []candidate {
	switch e.Kind {
	case event.WrongSocket:
		return run.wrongSocket(e)
	case event.LayersDiffer:
		return one(MixedIBRoCE, Certain, run.who(e)+" tried to connect InfiniBand to RoCE", e)
	case event.VersionsDiffer:
		return one(VersionMismatch, Certain, "NCCL says so", e)
	case event.CannotOpen:
		return slices.Concat(
			one(HCAAsymmetry, Likely, fmt.Sprintf("%s sees %s but cannot open it, so it uses other "+
				"HCAs than its peers", run.who(e), cmp.Or(e.Name, "a device")), e),
			one(NoIBDevice, Possible, "the container may not be allowed to use any device that it sees", e),
		)
	case event.GIDUnreadable:
		return one(GIDIndex, Certain, run.who(e)+" failed on an empty slot of the GID table, "+
			"as NCCL 2.21 to 2.25 do", e)
	default:
	}
	if d, ok := run.difference("version", versionOf); ok {
		return slices.Concat(
			one(VersionMismatch, Likely, "the ranks run "+values(d)+"; a message had an unexpected size", e),
			one(BootstrapTruncated, Likely, "as the mixed versions explain", e),
		)
	}
	return slices.Concat(
		one(BootstrapTruncated, Likely,
			"the peer runs another version, belongs to another job on the same port, or has another number of ranks",
			e),
		one(VersionMismatch, Possible, "mixed versions are the most common reason", e),
	)
}

// sizesCauses judges ends that disagree on the size of a message: their variables or versions differ, or the program
// does not run the same collective on all ranks.
func (run *explainer) sizesCauses(e event.Event) []candidate {
	said := run.who(e) + " and its peer disagree on the size of a message"
	if differ := run.otherCollective(); differ != "" {
		return slices.Concat(
			one(HangTimeout, Likely, differ, e),
			one(EnvNotOnAllRanks, Possible, said, e),
		)
	}
	if d, ok := run.difference("version", versionOf); ok {
		return one(VersionMismatch, Likely, said+": "+values(d), e)
	}
	return slices.Concat(
		one(EnvNotOnAllRanks, Possible, said+": variables that change protocol, buffers or channels may "+
			"differ, or the ranks are not at the same collective", e),
		one(VersionMismatch, Possible, "or their versions differ", e),
	)
}

// wrongSocket: "wrong type 3 != 4" is received and expected (src/include/socket.h: 3 NET/Socket, 4 NET/IB).
func (run *explainer) wrongSocket(e event.Event) []candidate {
	names := map[string]string{"0": "none", "1": "bootstrap", "2": "proxy", "3": "NET/Socket", "4": "NET/IB",
		"5": "RAS"}
	_, types, _ := strings.Cut(e.Text, "wrong type ")
	got, want, _ := strings.Cut(types, " != ")
	want, _, _ = strings.Cut(strings.TrimSpace(want), " ")
	text := fmt.Sprintf("%s uses %s, its peer %s: the peers chose different networks", run.who(e),
		cmp.Or(names[want], "one transport"), cmp.Or(names[got], "another"))
	return slices.Concat(
		one(EnvNotOnAllRanks, Likely, text, e),
		one(HCAAsymmetry, Possible, "one of the nodes may have no usable HCA", e),
	)
}

func values(d Difference) string {
	var list []string
	for _, g := range d.Groups {
		list = append(list, fmt.Sprintf("%s (%s)", g.Value, words.Few(g.Who, mostNames)))
	}
	return words.Few(list, mostNames)
}

func (run *explainer) interfaceCauses(e event.Event) []candidate {
	if value, ok := run.env("NCCL_SOCKET_IFNAME"); ok && e.Name != "gloo" {
		return one(BootstrapIfname, Likely, fmt.Sprintf("%s has no interface that NCCL_SOCKET_IFNAME=%s selects",
			run.who(e), value), e)
	}
	return one(BootstrapIfname, Likely, run.who(e)+" found no interface to use", e)
}

func (run *explainer) noNetworkCauses(e event.Event) []candidate {
	name := cmp.Or(e.Name, "a network")
	text := fmt.Sprintf("%s was configured to use %s, which was not found, so NCCL ended instead of falling back",
		run.who(e), name)
	found := run.fallbackCauses()
	if len(found) == 0 {
		return one(NoIBDevice, Likely, text, e)
	}
	found[0].evidence = append(quotes(e.Quote), found[0].evidence...)
	found[0].summary = text + "; " + found[0].summary
	return found
}
