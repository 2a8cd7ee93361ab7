package host

import "slices"

// UverbsOf returns the verbs character device of an RDMA device.
func (s *Snapshot) UverbsOf(device string) (Uverbs, bool) {
	for _, u := range s.Uverbs {
		if name, ok := u.Device.Get(); ok && name == device {
			return u, true
		}
	}
	return Uverbs{}, false
}

// ReachesDevice reports whether this process may have the verbs node of a device. It is true if that is unknown.
func (s *Snapshot) ReachesDevice() bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool { return s.AccessTo(d.Name) != Missing })
}

// AccessTo returns the access of this process to the verbs node of an RDMA device. A device without a node is Missing.
// It is NotProbed if the nodes of this container, or the device of one of them, could not be read.
func (s *Snapshot) AccessTo(device string) Access {
	if u, ok := s.UverbsOf(device); ok {
		return u.Access
	}
	for _, u := range s.Uverbs {
		if u.Access != Missing && u.Device.IsUnreadable() {
			return NotProbed
		}
	}
	if s.VerbsNodes.IsKnown() {
		return Missing
	}
	return NotProbed
}
