package rules

import (
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/nccllog"
)

// causesOf are the candidates that explain one failure, the most probable first.
func (v *view) causesOf(e nccllog.Event) []candidate {
	switch e.Kind {
	case nccllog.BadCompletion:
		return v.completionCauses(e)
	case nccllog.AsyncEvent:
		return v.asyncCauses(e)
	case nccllog.VerbsFailed:
		return v.verbsCauses(e)
	case nccllog.ConnectFailed, nccllog.SocketFailed, nccllog.Rendezvous:
		return v.socketCauses(e)
	case nccllog.CUDAFailed, nccllog.CUDAError, nccllog.Xid, nccllog.OutOfMemory, nccllog.CUDAInstall, nccllog.DuplicateGPU, nccllog.NVLSFailed, nccllog.PeerAccess:
		return v.gpuCauses(e)
	case nccllog.OFIFailed, nccllog.OFINoProvider, nccllog.OFIRegister, nccllog.OFICompletion, nccllog.GDRCopyFailed:
		return v.ofiCauses(e)
	case nccllog.SizesDiffer:
		return v.sizesCauses(e)
	case nccllog.WrongSocket, nccllog.LayersDiffer, nccllog.VersionsDiffer, nccllog.Truncated, nccllog.CannotOpen, nccllog.GIDUnreadable:
		return v.asymmetryCauses(e)
	case nccllog.NoInterface:
		return v.interfaceCauses(e)
	case nccllog.NoNetworkLeft:
		return v.noNetworkCauses(e)
	case nccllog.ShmFailed:
		return v.shmCauses(e)
	case nccllog.Warning:
		return []candidate{{UnknownCause, Possible, v.who(e) + " returned an error after a warning that is of no known kind", quotes(e.Quote)}}
	case nccllog.OOMKill:
		return one(PeerDied, Likely, fmt.Sprintf("%s was killed for want of the machine's memory, not the GPU's; all others lost it", v.who(e)), e)
	default:
	}
	return nil
}

// shmCauses: NCCL up to 2.23 writes the files itself; later ones, and other reasons than space, have an errno.
func (v *view) shmCauses(e nccllog.Event) []candidate {
	c := one(ShmTooSmall, Likely, v.who(e)+" could not make its part of shared memory", e)
	switch {
	case e.Code == 28:
		c[0].confidence, c[0].summary = Certain, v.who(e)+" found no space left in shared memory"
	case e.Code == 13 || e.Code == 1:
		c[0].confidence, c[0].summary = Possible, v.who(e)+" may not write to /dev/shm"
	}
	return c
}

// gpuCauses: none of them is the network's.
func (v *view) gpuCauses(e nccllog.Event) []candidate {
	detail := v.who(e) + ": " + what(e)
	switch e.Kind {
	case nccllog.OutOfMemory:
		return one(GPUOOM, Certain, detail, e)
	case nccllog.CUDAInstall:
		return one(CUDAInstall, Likely, v.who(e)+": "+first(e.Name, "the driver or the library is missing"), e)
	case nccllog.DuplicateGPU:
		return one(DuplicateGPU, Certain, "NCCL says which ranks share which GPU", e)
	case nccllog.NVLSFailed:
		return one(NVLS, Likely, v.who(e)+" failed in NVLS"+parenthesis(e.Name), e)
	case nccllog.PeerAccess:
		return one(PeerAccess, Likely, v.who(e)+" failed to map another GPU's memory"+parenthesis(e.Name), e)
	case nccllog.Xid:
		return one(CUDAError, Likely, fmt.Sprintf("the driver reported Xid %d", e.Code), e)
	default:
	}
	return one(CUDAError, cudaConfidence(e), detail, e)
}

// cudaConfidence: an error of a kernel stands for itself; an invalid argument or a system error may have been caused.
func cudaConfidence(e nccllog.Event) Confidence {
	for _, words := range []string{"illegal memory access", "launch failure", "device-side assert", "misaligned", "ECC", "illegal instruction", "uncorrectable"} {
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

// ofiCauses: libfabric and what stands on it.
func (v *view) ofiCauses(e nccllog.Event) []candidate {
	switch e.Kind {
	case nccllog.GDRCopyFailed:
		return one(GDRCopyMissing, Likely, v.who(e)+" could not open GDRCopy, which device-initiated networking (GIN) needs", e)
	case nccllog.OFIRegister:
		return append(one(OFIMRRegister, Likely, v.who(e)+" could not register a buffer with libfabric", e), one(Memlock, Possible, "the provider pins what it registers", e)...)
	case nccllog.OFICompletion:
		switch {
		case strings.Contains(e.Text, "Inappropriate ioctl"):
			return append(one(ProviderRace, Likely, v.who(e)+" got a completion with an error that the provider does not document", e), one(PeerUnreachable, Possible, "the receiver may not answer", e)...)
		case strings.Contains(e.Text, "nresponsive") || strings.Contains(e.Text, "nreachable") || strings.Contains(e.Text, "not reach"):
			return append(one(PeerUnreachable, Likely, v.who(e)+" got no answer from the receiver", e),
				append(one(Firewall, Possible, "EFA needs a security group that allows all traffic from and to itself", e), one(PeerDied, Possible, "the receiver may have ended before", e)...)...)
		}
		return append(one(PeerUnreachable, Possible, v.who(e)+" got a completion with an error", e), one(PeerDied, Possible, "the peer may have ended before", e)...)
	default:
	}
	return append(one(OFINoProvider, Likely, v.who(e)+" could not set up the OFI plugin", e), one(NoIBDevice, Possible, "the pod may have no device", e)...)
}

// asymmetryCauses: two ends that do not fit together.
func (v *view) asymmetryCauses(e nccllog.Event) []candidate {
	switch e.Kind {
	case nccllog.WrongSocket:
		return v.wrongSocket(e)
	case nccllog.LayersDiffer:
		return one(MixedIBRoCE, Certain, v.who(e)+" was to connect InfiniBand with RoCE", e)
	case nccllog.VersionsDiffer:
		return one(VersionMismatch, Certain, "NCCL says so", e)
	case nccllog.CannotOpen:
		return append(one(HCAAsymmetry, Likely, fmt.Sprintf("%s sees %s and cannot open it, so that it uses other HCAs than its peers", v.who(e), first(e.Name, "a device")), e),
			one(NoIBDevice, Possible, "the container may not use any of the devices that it sees", e)...)
	case nccllog.GIDUnreadable:
		return one(GIDIndex, Certain, v.who(e)+" stumbled over an empty slot of the GID table, as NCCL 2.21 to 2.25 do", e)
	default:
	}
	if d, ok := v.difference("version", func(r nccllog.Rank) string { return r.Version }); ok {
		return append(one(VersionMismatch, Likely, "the ranks say "+values(d)+"; a message had another size than expected", e), one(BootstrapTruncated, Likely, "as the mixed versions explain", e)...)
	}
	return append(one(BootstrapTruncated, Likely, "the peer is another version, another job on the same port, or counts ranks differently", e), one(VersionMismatch, Possible, "mixed versions are the most frequent reason", e)...)
}

// sizesCauses: the ends of a collective do not send what is expected: other variables (protocol, buffers, channels), other
// versions, or a program whose ranks are not at the same collective.
func (v *view) sizesCauses(e nccllog.Event) []candidate {
	said := v.who(e) + " and its peer do not agree on the size of a message"
	if d, ok := v.difference("version", func(r nccllog.Rank) string { return r.Version }); ok {
		return one(VersionMismatch, Likely, said+": "+values(d), e)
	}
	return append(one(EnvNotOnAllRanks, Possible, said+": variables that change protocol, buffers or channels may differ, or the ranks are not at the same collective", e),
		one(VersionMismatch, Possible, "or their versions", e)...)
}

// wrongSocket: "wrong type 3 != 4" is received and expected (src/include/socket.h: 3 NET/Socket, 4 NET/IB).
func (v *view) wrongSocket(e nccllog.Event) []candidate {
	names := map[string]string{"0": "none", "1": "bootstrap", "2": "proxy", "3": "NET/Socket", "4": "NET/IB", "5": "RAS"}
	_, types, _ := strings.Cut(e.Text, "wrong type ")
	got, want, _ := strings.Cut(types, " != ")
	want, _, _ = strings.Cut(strings.TrimSpace(want), " ")
	text := fmt.Sprintf("%s uses %s, its peer %s: the peers chose different networks", v.who(e), first(names[want], "one transport"), first(names[got], "another"))
	return append(one(EnvNotOnAllRanks, Likely, text, e), one(HCAAsymmetry, Possible, "one of the nodes may have no usable HCA", e)...)
}

func values(d Difference) string {
	var list []string
	for _, g := range d.Groups {
		list = append(list, fmt.Sprintf("%s (%s)", g.Value, few(g.Who)))
	}
	return few(list)
}

// interfaceCauses: NCCL, or gloo, found no interface.
func (v *view) interfaceCauses(e nccllog.Event) []candidate {
	if value, ok := v.env("NCCL_SOCKET_IFNAME"); ok && e.Name != "gloo" {
		return one(BootstrapIfname, Likely, fmt.Sprintf("%s has no interface that NCCL_SOCKET_IFNAME=%s selects", v.who(e), value), e)
	}
	return one(BootstrapIfname, Likely, v.who(e)+" found no interface to use", e)
}

// noNetworkCauses: NCCL_NET names a network that is not there, or nothing is.
func (v *view) noNetworkCauses(e nccllog.Event) []candidate {
	name := first(e.Name, "the network that was asked for")
	text := fmt.Sprintf("%s was to use %s, which is not there, and NCCL ended instead of falling back", v.who(e), name)
	found := v.fallbackCauses()
	if len(found) == 0 {
		return one(NoIBDevice, Likely, text, e)
	}
	found[0].evidence = append(quotes(e.Quote), found[0].evidence...)
	found[0].summary = text + "; " + found[0].summary
	return found
}
