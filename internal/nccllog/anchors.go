package nccllog

// FirstLines is how many lines of every input are read whatever they hold: a training log in which NCCL says nothing is
// known by them.
const FirstLines = 200

// Anchors are what lines that say something have in them: a line with none of them, after the first ones of its file, may be
// passed over. Every one has at least four bytes.
func Anchors() []string {
	return []string{
		"NCCL", "RCCL", "nccl", // NCCL's lines, those of ProcessGroupNCCL, names of results
		"NET/",                                                                                                                          // where a copy lost what stands in front
		"ibv_reg", "ibv_create", "ibv_modify", "ibv_open", "ibv_alloc", "ibv_query", "ibv_poll", "ibv_post", "libibverbs", "libfabric:", // said outside NCCL
		"vendor", "localGid", "remoteGid", "curr state", "local GID", "remote GID", // the rest of a line that was wrapped
		"rror:", "Error", "ERROR", "Exception", // Python, SLURM
		"CUDA", "cuda", "HIP error", "HIP out", "NVRM", "Xid (",
		"Out of mem", "ut of Mem", "OutOfMem", "Memory cgroup", "pressure", "low on mem", "annot alloc", "(shm)", // memory
		"atchdog", "eartbeat", "imed out", "imeout",
		"exitcode", "xit code", "ignal", "SIGKILL", "illed", "ore dumped", "oom_kill", "oom-kill",
		"TIME LIMIT", "CANCELLED", "MPI_ABORT", "mpirun", "Root Cause", "RayActor", "ActorDied", "actor died", "actor is dead",
		"efused", "unreachable", "o route", "by remote peer", "by peer", // sockets
		"Avg bus", "ut of bounds", " Pid ", "Using devices", // nccl-tests
		"cannot open shared", "undefined symbol", "no kernel image",
	}
}
