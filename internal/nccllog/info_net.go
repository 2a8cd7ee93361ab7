package nccllog

import (
	"bytes"
)

func (p *notices) infoN(r *rank, s *logLine) {
	t := s.text
	switch {
	case bytes.HasPrefix(t, []byte("NET/")):
		p.infoNet(r, s)
	case bytes.HasPrefix(t, []byte("NET : Using interface ")): // up to 2.3
		if a := p.address(t[len("NET : Using interface "):]); a.Interface != "" && len(r.Sockets) < maxList {
			r.Sockets = append(r.Sockets, a)
			if r.Bootstrap.Interface == "" {
				r.Bootstrap = a
			}
		}
	case bytes.HasPrefix(t, []byte("NCCL_")):
		p.variable(r, s)
	case bytes.HasPrefix(t, []byte("NCCL version ")):
		if v := p.version(t[len("NCCL version "):]); v != "" {
			r.Version = v
		}
	case bytes.HasPrefix(t, []byte("NVLS multicast support is available")):
		r.NVLS = true
	}
}

// variable reads "NCCL_IB_HCA set to =mlx5_6:1", "NCCL_IB_TIMEOUT set by environment to 22." and those of NCCL's own
// files.
func (p *notices) variable(r *rank, s *logLine) {
	t := s.text
	blank := bytes.IndexByte(t, ' ')
	if blank < 0 || blank > 60 {
		return
	}
	name, rest := t[:blank], t[blank:]
	value, ok := bytes.CutPrefix(rest, []byte(" set by environment to "))
	if ok {
		value = bytes.TrimSpace(value)
		if i := bytes.IndexByte(value, '.'); i > 0 { // numbers end in a dot, and people write remarks behind it
			if _, number := whole(bytes.TrimPrefix(value[:i], []byte("-"))); number {
				value = value[:i]
			}
		}
	} else if value, ok = bytes.CutPrefix(rest, []byte(" set to ")); !ok {
		return
	}
	v := Variable{Name: p.word(name), Value: p.word(bytes.TrimSpace(value))}
	for i := range r.Env {
		if r.Env[i].Name == v.Name {
			r.Env[i].Value = v.Value
			return
		}
	}
	if len(r.Env) < maxList {
		v.At = s.quote()
		r.Env = append(r.Env, v)
	}
}

func (p *notices) infoNet(r *rank, s *logLine) {
	rest := s.text[len("NET/"):]
	slash := bytes.IndexAny(rest, " :")
	if slash <= 0 || slash > 40 {
		return
	}
	name, said := rest[:slash], bytes.TrimLeft(rest[slash:], " :")
	own := string(name) == "IB" || string(name) == "Socket"
	r.Verbs = r.Verbs || string(name) == "IB" && !hasPrefix(said, "No ", "Using ", "Failed ")
	switch {
	case string(name) == "OFI":
		p.ofi(r, s, said)
	case string(name) == "Plugin":
		p.loaded(r, said)
	case hasPrefix(said, "GPU Direct RDMA "):
		if !own {
			p.plugin(r, name)
		}
		p.ability(r, s, said)
	default:
		if !p.device(r, s, name, said) && !own {
			p.plugin(r, name)
		}
	}
}

// device takes the lines about devices, and reports whether this is one.
func (p *notices) device(r *rank, s *logLine, name, said []byte) bool {
	switch {
	case hasPrefix(said, "Using "):
		p.using(r, s, name, said)
	case hasPrefix(said, "No device found"):
		p.keep(r, Event{Kind: NoDevice, Quote: s.quote(), Number: -1, Info: true})
	case hasPrefix(said, "NCCL ", "Dev "):
		r.queuePair(said)
	case hasPrefix(said, "There are mismatched physical devices"):
		p.keep(r, Event{Kind: DevicesDiffer, Quote: s.quote(), Number: -1, Info: true})
	case hasPrefix(said, "Made virtual device "):
		p.virtual(r, said)
	default:
		return false
	}
	return true
}

func hasPrefix(text []byte, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

// loaded: "Loaded net plugin IBext_v10 (v10)", "Loaded net plugin AWS Libfabric (v8)".
func (p *notices) loaded(r *rank, said []byte) {
	if name, ok := bytes.CutPrefix(said, []byte("Loaded net plugin ")); ok {
		if end := bytes.Index(name, []byte(" (")); end > 0 {
			name = name[:end]
		}
		p.plugin(r, nameAt(name))
	}
}

// ofi reads lines of the plugin of AWS; that it is loaded names the network.
func (p *notices) ofi(r *rank, s *logLine, said []byte) {
	const name = "AWS Libfabric"
	if bytes.HasPrefix(said, []byte("Initializing aws-ofi-nccl")) || bytes.HasPrefix(said,
		[]byte("Selected provider is ")) ||
		bytes.HasPrefix(said, []byte("Selected Provider is ")) {
		p.plugin(r, []byte(name))
		if r.Listed.Text == "" || bytes.HasPrefix(said, []byte("Selected")) {
			r.Listed = s.quote()
		}
	}
}

// using is the list of devices: "Using [0]mlx5_6:1/RoCE [1]mlx5_7:1/RoCE [RO]; OOB eth0:10.128.2.15<0>". From 2.24 on
// it is printed with no device in it, too.
func (p *notices) using(r *rank, s *logLine, name, said []byte) {
	list := said[len("Using "):]
	if i := bytes.Index(list, []byte("; OOB ")); i >= 0 {
		r.OOB = p.address(list[i+len("; OOB "):])
		list = list[:i]
	}
	if string(name) == "Socket" {
		r.Sockets = nil
		for _, field := range bytes.Fields(list) {
			if a := p.address(field); a.Interface != "" && len(r.Sockets) < maxList {
				r.Sockets = append(r.Sockets, a)
			}
		}
		if r.Listed.Text == "" {
			r.Listed = s.quote()
		}
		return
	}
	r.Listed, r.Relaxed = s.quote(), bytes.Contains(list, []byte("[RO]"))
	devices := p.hcas(list)
	r.HCAs, r.Virtual = devices.devices, append(r.Virtual, devices.joined...)
	if len(r.HCAs) == 0 {
		p.keep(r, Event{Kind: NoDevice, Quote: s.quote(), Number: -1, Info: true})
	}
	if string(name) != "IB" {
		p.plugin(r, name)
	}
}

type deviceList struct {
	devices, joined []HCA
}

// hcas reads the list; ranks with the same one share it. 2.20 to 2.23 join devices in braces, and number what they
// join: [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}. 2.30 may have rail and plane after the port.
func (p *vocabulary) hcas(text []byte) deviceList {
	if found, ok := p.lists[string(text)]; ok {
		return found
	}
	var found deviceList
	outer := -1
	for rest := text; len(found.devices) < maxList; {
		open := bytes.IndexByte(rest, '[')
		if open < 0 {
			break
		}
		rest = rest[open+1:]
		end := bytes.IndexByte(rest, ']')
		if end < 0 {
			break
		}
		index, isNumber := whole(rest[:end])
		rest = bytes.TrimLeft(rest[end+1:], " ")
		if bytes.HasPrefix(rest, []byte("={")) {
			outer = index
			continue
		}
		stop := bytes.IndexAny(rest, " ,}")
		if stop < 0 {
			stop = len(rest)
		}
		h, ok := p.hca(rest[:stop])
		if !isNumber || !ok {
			continue
		}
		h.Index = index
		found.devices = append(found.devices, h)
		if outer >= 0 {
			found.join(outer, h.Name)
		}
	}
	if p.lists == nil {
		p.lists = map[string]deviceList{}
	}
	if len(p.lists) < maxWords {
		p.lists[string(text)] = found
	}
	return found
}

// join adds a device to the one that stands for several.
func (l *deviceList) join(outer int, name string) {
	for i := range l.joined {
		if l.joined[i].Index == outer {
			l.joined[i].Name = cut(l.joined[i].Name+"+"+name, 200)
			return
		}
	}
	l.joined = append(l.joined, HCA{Index: outer, Name: name})
}

// hca reads "mlx5_6:1/RoCE".
func (p *vocabulary) hca(text []byte) (HCA, bool) {
	slash := bytes.LastIndexByte(text, '/')
	colon := bytes.IndexByte(text, ':')
	if slash < 0 || colon <= 0 || colon > slash {
		return HCA{}, false
	}
	port := numberAfter(text[colon:], ":")
	return HCA{Name: p.word(text[:colon]), Port: port, Layer: p.word(text[slash+1:])}, true
}

// virtual is a device that 2.24 and later join from several; its index follows those of the physical ones, and its
// layer returns the link layer of its parts.
func (p *notices) virtual(r *rank, said []byte) {
	index := numberAfter(said, "[")
	i := bytes.Index(said, []byte("name="))
	if index < 0 || i < 0 || !bytes.Contains(said[i:], []byte("+")) {
		return
	}
	name := said[i+len("name="):]
	if end := bytes.IndexByte(name, ' '); end > 0 {
		name = name[:end]
	}
	const most = 8
	if len(r.Virtual) < most && len(name) <= 200 {
		r.Virtual = append(r.Virtual, HCA{Index: index, Name: p.word(name)})
	}
}

// ability reads whether one NIC and the driver can use GPUDirect, which does not prove that they do: "GPU Direct RDMA
// Enabled for HCA 0 'mlx5_0'".
func (p *notices) ability(r *rank, s *logLine, said []byte) {
	enabled := bytes.HasPrefix(said, []byte("GPU Direct RDMA Enabled"))
	list, at := &r.GPUDirect.Disabled, &r.GPUDirect.DisabledAt
	if enabled {
		list, at = &r.GPUDirect.Enabled, &r.GPUDirect.EnabledAt
	}
	name := said
	if open := bytes.IndexByte(said, '\''); open >= 0 {
		name = bytes.TrimRight(said[open+1:], "' \r\n")
	}
	for _, known := range *list {
		if known == string(name) {
			return
		}
	}
	if len(*list) < maxList && len(name) < 200 {
		*list = append(*list, p.word(name))
	}
	if at.Text == "" {
		*at = s.quote()
	}
}

// queuePair: "NCCL Dev 0 IbDev 0 Port 1 qpn 364 mtu 5 GID 3 (0/B9D4E80AFFFF0000)" on RoCE, "... LID 12 ..." on
// InfiniBand.
func (r *rank) queuePair(said []byte) {
	if mtu := numberAfter(said, " mtu "); mtu > 0 {
		r.QueuePair.MTU = mtu
	}
	if gid := numberAfter(said, " GID "); gid >= 0 {
		r.QueuePair.GID, r.QueuePair.HasGID = gid, true
	}
	if lid := numberAfter(said, " LID "); lid >= 0 {
		r.QueuePair.LID, r.QueuePair.HasLID = lid, true
	}
}
