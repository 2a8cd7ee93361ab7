package host

// UserSetting is what the user gave an NCCL variable, and where: the environment first, then NCCL's files in the order
// in which NCCL reads them; the first one counts (setenv without overwrite, NCCL src/misc/param.cc). A value that NCCL
// passes over is not set, and hides those of the files all the same.
func (s *Snapshot) UserSetting(name string) (value, origin string, set bool) {
	if value, set := s.Env[name]; set {
		return value, "the environment", heeded(name, value)
	}
	return s.FileSetting(name)
}

// FileSetting is what NCCL's configuration files give a variable that the environment does not have.
func (s *Snapshot) FileSetting(name string) (value, file string, set bool) {
	for _, v := range s.NCCL.Config {
		if v.Name == name {
			return v.Value, v.File, heeded(name, v.Value)
		}
	}
	return "", "", false
}

// heeded reports whether NCCL takes a value for one: not an empty one (src/misc/param.cc), and of NCCL_SOCKET_IFNAME
// none of a single character (src/misc/socket.cc).
func heeded(name, value string) bool {
	return value != "" && (name != "NCCL_SOCKET_IFNAME" || len(value) > 1)
}
