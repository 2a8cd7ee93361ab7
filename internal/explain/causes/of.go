package causes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railhead/railhead/internal/explain/facts"
	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/story"
	"github.com/railhead/railhead/internal/words"
)

// causesOf returns the causes that explain one failure, the most probable first.
func causesOf(in *input, e event.Event) []candidate {
	switch e.Kind {
	case event.BadCompletion:
		return completionCauses(in, e)
	case event.AsyncEvent:
		return asyncCauses(in, e)
	case event.VerbsFailed:
		return verbsCauses(in, e)
	case event.ConnectFailed, event.SocketFailed, event.Rendezvous:
		return socketCauses(in, e)
	case event.CUDAFailed, event.CUDAError, event.Xid, event.OutOfMemory, event.CUDAInstall,
		event.GPUNotReady, event.DuplicateGPU, event.NVLSFailed, event.PeerAccess:
		return gpuCauses(in, e)
	case event.OFIFailed, event.OFINoProvider, event.OFIRegister, event.OFICompletion, event.GDRCopyFailed:
		return ofiCauses(in, e)
	case event.SizesDiffer:
		return sizesCauses(in, e)
	case event.WrongSocket, event.LayersDiffer, event.VersionsDiffer, event.Truncated, event.CannotOpen,
		event.GIDUnreadable:
		return asymmetryCauses(in, e)
	case event.NoInterface:
		return interfaceCauses(in, e)
	case event.NoNetworkLeft:
		return noNetworkCauses(in, e)
	case event.ShmFailed:
		return shmCauses(in, e)
	case event.RankMissing, event.RanksDiffer:
		return rasCauses(in, e)
	default:
	}
	return listedCause(in, e)
}

// listedCause returns the cause that the kind or the signature of an event names, or that a process ended.
func listedCause(in *input, e event.Event) []candidate {
	who := in.run.Who(e)
	switch e.Kind {
	case event.WrongResults:
		return possible(story.UnknownCause, "nccl-tests found wrong results, or less bandwidth than NCCL_TESTS_MIN_BW",
			e)
	case event.Complaint, event.FailureWords:
		return possible(story.UnknownCause, who+" logged an error that railhead does not know", e)
	case event.Reason:
		return advised(reasonAdvice, possible(story.UnknownCause, e.Name, e))
	case event.Warning:
		return possible(story.UnknownCause, who+" returned an error after a warning that railhead does not know", e)
	case event.OOMKill:
		return likely(story.PeerDied, fmt.Sprintf("%s was killed because its host ran out of memory (not the GPU); "+
			"all others lost their connection to it", who), e)
	case event.Exception, event.Exit, event.Aborted, event.TimeLimit, event.Restarted:
		if in.seq.Origins[e.Seq] {
			return endCauses(in, e)
		}
	case event.Listed, event.FailedOver, event.FailoverFailed, event.TopologyUnread,
		event.Stalled, event.Recoverable:
		switch s := event.SignatureOf(e); {
		case e.Detail == event.Diagnosed:
			entry := entryOf(s.Cause)
			return advised(&advice{"NCCL's diagnostics", entry.Fix, entry.Experiment},
				one(s.Cause, s.Confidence, s.What+parenthesis(e.Name), e))
		case s.ID == "goal-missed":
			return advised(missedAdvice, one(s.Cause, s.Confidence, "its last line says so", e))
		case s.ID == "unused-request":
			return advised(unusedAdvice, one(s.Cause, s.Confidence, who+": "+s.What, e))
		case s.Cause != "":
			return one(s.Cause, s.Confidence, who+": "+s.What, e)
		}
	default:
	}
	return nil
}

// shmCauses: NCCL up to 2.23 writes the files itself; later ones, and other reasons than space, have an errno.
func shmCauses(in *input, e event.Event) []candidate {
	c := likely(story.ShmTooSmall, in.run.Who(e)+" could not create its shared memory", e)
	switch {
	case e.Code == 28:
		c[0].confidence, c[0].summary = story.Certain, in.run.Who(e)+" found no space left in shared memory"
	case e.Code == 13 || e.Code == 1:
		c[0].confidence, c[0].summary = story.Possible, in.run.Who(e)+" is not allowed to write to /dev/shm"
	}
	return c
}

func gpuCauses(in *input, e event.Event) []candidate {
	detail := in.run.Who(e) + ": " + e.String()
	if e.Detail == event.OverFabric && (in.run.OverFabric() || e.Code == notPermitted) {
		return fabricCauses(detail, e)
	}
	switch e.Kind {
	case event.OutOfMemory:
		return certain(story.GPUOOM, detail, e)
	case event.CUDAInstall:
		return likely(story.CUDAInstall, in.run.Who(e)+": "+cmp.Or(e.Name, "the driver or the library is missing"), e)
	case event.GPUNotReady:
		return likely(story.FabricManager, in.run.Who(e)+": CUDA error 802, system not yet initialized", e)
	case event.DuplicateGPU:
		return certain(story.DuplicateGPU, "NCCL says which ranks share which GPU", e)
	case event.NVLSFailed:
		return likely(story.NVLS, in.run.Who(e)+" failed in NVLS"+parenthesis(e.Name), e)
	case event.PeerAccess:
		return likely(story.PeerAccess, in.run.Who(e)+" failed to map another GPU's memory"+parenthesis(e.Name), e)
	case event.Xid:
		return likely(story.CUDAError, fmt.Sprintf("the driver reported Xid %d", e.Code), e)
	default:
	}
	return one(story.CUDAError, cudaConfidence(e), detail, e)
}

const notPermitted = 800 // of cudaError_t

// fabricCauses judges an error of memory that other machines may map over NVLink, by its number.
func fabricCauses(detail string, e event.Event) []candidate {
	switch e.Code {
	case 101:
		detail += ": the other GPU is not in the same IMEX domain"
	case 400, 401:
		detail += ": the IMEX domain lost its state, though its probes may be green"
	case notPermitted:
		detail += ": the pod may not use its IMEX channel, or has none"
	case 801:
		detail += ": the IMEX channel is not of this job's domain, or the clique has two domains"
	}
	return slices.Concat(likely(story.IMEX, detail, e), possible(story.NVLS, "NVLink SHARP may fail alone", e))
}

// cudaConfidence: an error of a kernel stands for itself; an invalid argument or a system error may have been caused.
func cudaConfidence(e event.Event) story.Confidence {
	if e.Detail == event.Sticky {
		return story.Certain
	}
	return story.Likely
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

func ofiCauses(in *input, e event.Event) []candidate {
	switch e.Kind {
	case event.GDRCopyFailed:
		return likely(story.GDRCopyMissing, in.run.Who(e)+" could not open GDRCopy, which "+
			"device-initiated networking (GIN) needs", e)
	case event.OFIRegister:
		return slices.Concat(
			likely(story.OFIMRRegister, in.run.Who(e)+" could not register a buffer with libfabric", e),
			possible(story.Memlock, "the provider pins what it registers", e),
		)
	case event.OFICompletion:
		switch {
		case e.Detail == event.NoIoctl:
			return slices.Concat(
				likely(story.ProviderRace, in.run.Who(e)+" got a completion with an undocumented error", e),
				possible(story.PeerUnreachable, "the receiver may not answer", e),
			)
		case e.Detail == event.Unanswered:
			return slices.Concat(
				likely(story.PeerUnreachable, in.run.Who(e)+" got no answer from the receiver", e),
				possible(story.Firewall, "EFA needs a security group that allows all traffic to and from itself", e),
				possible(story.PeerDied, "the receiver may have ended first", e),
			)
		}
		return slices.Concat(
			possible(story.PeerUnreachable, in.run.Who(e)+" got a completion with an error", e),
			possible(story.PeerDied, "the peer may have ended first", e),
		)
	case event.OFIFailed:
		if event.SignatureOf(e).Cause == story.UnknownCause {
			return possible(story.UnknownCause, in.run.Who(e)+" found a provider of libfabric and could not use it", e)
		}
	default:
	}
	return slices.Concat(
		likely(story.OFINoProvider, in.run.Who(e)+" could not set up the OFI plugin", e),
		possible(story.NoIBDevice, "the pod may have no EFA device", e),
	)
}

// asymmetryCauses judges two ends that do not fit together.
func asymmetryCauses(in *input, e event.Event) []candidate {
	switch e.Kind {
	case event.WrongSocket:
		return wrongSocket(in, e)
	case event.LayersDiffer:
		return certain(story.MixedIBRoCE, in.run.Who(e)+" tried to connect InfiniBand to RoCE", e)
	case event.VersionsDiffer:
		return certain(story.VersionMismatch, "NCCL says so", e)
	case event.CannotOpen:
		return slices.Concat(
			likely(story.HCAAsymmetry, fmt.Sprintf("%s sees %s but cannot open it, so it uses other "+
				"HCAs than its peers", in.run.Who(e), cmp.Or(e.Name, "a device")), e),
			possible(story.NoIBDevice, "the container may not be allowed to use any device that it sees", e),
		)
	case event.GIDUnreadable:
		return certain(story.GIDIndex, in.run.Who(e)+" failed on an empty slot of the GID table, "+
			"as NCCL 2.21 to 2.25 do", e)
	default:
	}
	if d, ok := facts.DifferenceIn(in.run, "version", facts.VersionOf); ok {
		return slices.Concat(
			likely(story.VersionMismatch, "the ranks run "+values(d)+"; a message had an unexpected size", e),
			likely(story.BootstrapTruncated, "as the mixed versions explain", e),
		)
	}
	return slices.Concat(
		likely(story.BootstrapTruncated,
			"the peer runs another version, belongs to another job on the same port, or has another number of ranks",
			e),
		possible(story.VersionMismatch, "mixed versions are the most common reason", e),
	)
}

// sizesCauses judges ends that disagree on the size of a message: their variables or versions differ, or the program
// does not run the same collective on all ranks.
func sizesCauses(in *input, e event.Event) []candidate {
	said := in.run.Who(e) + " and its peer disagree on the size of a message"
	if differ := otherCollective(in.run); differ != "" {
		return slices.Concat(
			likely(story.HangTimeout, differ, e),
			possible(story.EnvNotOnAllRanks, said, e),
		)
	}
	if d, ok := facts.DifferenceIn(in.run, "version", facts.VersionOf); ok {
		return likely(story.VersionMismatch, said+": "+values(d), e)
	}
	return slices.Concat(
		possible(story.EnvNotOnAllRanks, said+": variables that change protocol, buffers or channels may "+
			"differ, or the ranks are not at the same collective", e),
		possible(story.VersionMismatch, "or their versions differ", e),
	)
}

// wrongSocket: "wrong type 3 != 4" is received and expected (src/include/socket.h: 3 NET/Socket, 4 NET/IB).
func wrongSocket(in *input, e event.Event) []candidate {
	text := fmt.Sprintf("%s uses %s, its peer %s: the peers chose different networks", in.run.Who(e),
		cmp.Or(e.Socket.Wants, "one transport"), cmp.Or(e.Socket.Has, "another"))
	return slices.Concat(
		likely(story.EnvNotOnAllRanks, text, e),
		possible(story.HCAAsymmetry, "one of the nodes may have no usable HCA", e),
	)
}

func values(d story.Difference) string {
	var list []string
	for _, g := range d.Groups {
		list = append(list, fmt.Sprintf("%s (%s)", g.Value, words.Few(g.Who, facts.MostNames)))
	}
	return words.Few(list, facts.MostNames)
}

func interfaceCauses(in *input, e event.Event) []candidate {
	if value, ok := in.run.Env("NCCL_SOCKET_IFNAME"); ok && e.Name != "gloo" {
		return likely(story.BootstrapIfname, fmt.Sprintf("%s has no interface that NCCL_SOCKET_IFNAME=%s selects",
			in.run.Who(e), value), e)
	}
	return likely(story.BootstrapIfname, in.run.Who(e)+" found no interface to use", e)
}

func noNetworkCauses(in *input, e event.Event) []candidate {
	name := cmp.Or(e.Name, "a network")
	text := fmt.Sprintf("%s was configured to use %s, which was not found, so NCCL ended instead of falling back",
		in.run.Who(e), name)
	found := fallbackCauses(in)
	switch {
	// of a plugin
	case e.Name != "" && name != "IB" && name != "Socket" && !in.run.Has(event.OFINoProvider, event.OFIFailed):
		return advised(pluginAdvice, likely(story.UnknownCause, text, e))
	case len(found) == 0:
		return likely(story.NoIBDevice, text, e)
	}
	found[0].evidence = append(facts.Quotes(e.Quote), found[0].evidence...)
	found[0].summary = text + "; " + found[0].summary
	return found
}
