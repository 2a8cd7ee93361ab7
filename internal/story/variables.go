package story

// NCCLVariables returns the variables, as NAME=value, with which NCCL logs all that a story is told from. Channels and
// GPUDirect need the parts NET and GRAPH, which it does not log by default (NCCL_DEBUG_SUBSYS in src/debug.cc).
func NCCLVariables() []string {
	return []string{"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET,GRAPH"}
}
