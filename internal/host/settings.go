package host

// UserSetting returns the user's setting of an NCCL variable and its origin: the environment, then NCCL's files in the
// order in which NCCL reads them. The first one counts (setenv without overwrite, NCCL src/misc/param.cc). A value that
// NCCL ignores is not set, but hides the values in the files.
func (s *Snapshot) UserSetting(name string) (value, origin string, set bool) {
	if value, set := s.Env[name]; set {
		return value, "the environment", accepted(name, value)
	}
	return s.FileSetting(name)
}

// FileSetting returns the setting of a variable in NCCL's configuration files.
func (s *Snapshot) FileSetting(name string) (value, file string, set bool) {
	for _, v := range s.NCCL.Config {
		if v.Name == name {
			return v.Value, v.File, accepted(name, v.Value)
		}
	}
	return "", "", false
}

// accepted reports whether NCCL uses a value: it ignores an empty one (src/misc/param.cc), and for NCCL_SOCKET_IFNAME
// one of a single character (src/misc/socket.cc). An empty list of transports is one for UCX, and an empty switch is on
// for NVSHMEM.
func accepted(name, value string) bool {
	if name == "UCX_TLS" || name == "NVSHMEM_IB_ENABLE_IBGDA" {
		return true
	}
	return value != "" && (name != "NCCL_SOCKET_IFNAME" || len(value) > 1)
}
