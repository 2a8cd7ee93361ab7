package causes

// advice takes the place of a cause's words in the catalogue, where a line says more than they do.
type advice struct {
	title, fix, experiment string
}

var stoppedAdvice = &advice{
	title: "it was stopped",
	fix: "Nothing is broken. If nobody meant to stop it, ask the scheduler why it did: `sacct -j ID -o " +
		"State,Reason`, or `kubectl describe` of the pods.",
	experiment: "Start it again: it runs past this point.",
}

var shortLimitAdvice = &advice{
	title: "the time limit is too short",
	fix: "Ask for more time (Slurm: --time; a Job of Kubernetes: activeDeadlineSeconds), or write checkpoints and " +
		"start again from the last one.",
	experiment: "The time of a step times the steps that are left is the time that it needs.",
}

var quotedAdvice = &advice{
	title: "NCCL's last warning is the reason",
	fix: "Search for its words together with the version of NCCL, and try the newest patch release of that version. " +
		"If a variable caused it, the log of one run with NCCL_DEBUG=INFO lists all that are set.",
	experiment: "Run nccl-tests in the same image with the same variables: if it fails alike, the program is not at " +
		"fault.",
}

var programAdvice = &advice{
	title:      "the program ended by itself",
	fix:        "Read the lines above this one: the stack names the place in the program.",
	experiment: "Run the same step in one process: if it fails alike, neither NCCL nor the network is at fault.",
}

var reasonAdvice = &advice{
	title: "a line says why",
	fix:   "Mend what this line says, on the node that the lines around it name.",
	experiment: "Start `true` in place of the program by the same command: if it fails alike, the program is not at " +
		"fault.",
}

var missedAdvice = &advice{
	title:      "the training ended without its goal",
	fix:        "Look at its hyperparameters, its data and its seed: no line shows a fault of a machine.",
	experiment: "Run it again with another seed.",
}

var pluginAdvice = &advice{
	title: "the network plugin that was asked for is not there",
	fix: "Put the plugin's folder into LD_LIBRARY_PATH of every rank (libnccl-net-NAME.so, or what NCCL_NET_PLUGIN " +
		"names), for the same CUDA as NCCL; set NCCL_NET_PLUGIN to load it, and NCCL_NET only to insist on one " +
		"network.",
	experiment: "`ldd` of the plugin in the image shows a library that is missing; with NCCL_DEBUG=INFO, NET/Plugin " +
		"says what NCCL tried to load.",
}

var unusedAdvice = &advice{
	title: "a fault of NCCL 2.28 to 2.30",
	fix: "Start the processes again: they do not recover. No setting is known to avoid it; try NCCL before 2.28 or " +
		"after 2.30.7.",
	experiment: "`railhead wire` shows that no data moves any more, while all processes live.",
}

// advised returns a copy of candidates with other words.
func advised(a *advice, found []candidate) []candidate {
	for i := range found {
		found[i].advice = a
	}
	return found
}
