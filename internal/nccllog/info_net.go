package nccllog

import (
	"bytes"
	"slices"

	"github.com/railhead/railhead/internal/nccllog/event"
	"github.com/railhead/railhead/internal/nccllog/find"
	"github.com/railhead/railhead/internal/nccllog/prefix"
)

func readInfoN(p *Parser, r *rank, l *logLine) {
	const interfaces, version = "NET : Using interface ", "NCCL version "
	switch t := l.text; {
	case find.Begins(t, "NET/"):
		readInfoNet(p, r, l)
	case find.Begins(t, "NCCL progress counter monitor: ") && bytes.Contains(t, []byte(" still pending after ")):
		keep(p, r, event.New(event.Stalled, "progress-counter", l.quote()))
	case find.Begins(t, interfaces): // up to 2.3
		if a := p.ranks.texts.address(t[len(interfaces):]); a.Interface != "" && len(r.Sockets) < maxList {
			r.Sockets = append(r.Sockets, a)
			if r.Bootstrap.Interface == "" {
				r.Bootstrap = a
			}
		}
	case find.Begins(t, "NCCL_"):
		readVariable(p, r, l)
	case find.Begins(t, version):
		if v := p.ranks.texts.version(t[len(version):]); v != "" {
			r.Version = v
		}
	}
}

// readVariable reads "NCCL_IB_HCA set to =mlx5_6:1" and "NCCL_IB_TIMEOUT set by environment to 22.", also of NCCL's
// configuration files.
func readVariable(p *Parser, r *rank, l *logLine) {
	name, rest, ok := bytes.Cut(l.text, []byte(" set "))
	if !ok || len(name) > 60 || bytes.IndexByte(name, ' ') >= 0 {
		return
	}
	value, ok := bytes.CutPrefix(rest, []byte("by environment to "))
	if ok {
		// A dot ends a number, and people write remarks after it.
		head, _, dotted := bytes.Cut(bytes.TrimSpace(value), []byte("."))
		if _, isNumber := prefix.Whole(bytes.TrimPrefix(head, []byte("-"))); dotted && isNumber {
			value = head
		}
	} else if value, ok = bytes.CutPrefix(rest, []byte("to ")); !ok {
		return
	}
	v := Variable{Name: p.ranks.texts.word(name), Value: p.ranks.texts.word(bytes.TrimSpace(value))}
	for i := range r.Env {
		if r.Env[i].Name == v.Name {
			r.Env[i].Value = v.Value
			return
		}
	}
	if len(r.Env) < maxList {
		v.At = l.quote()
		r.Env = append(r.Env, v)
	}
}

func readInfoNet(p *Parser, r *rank, l *logLine) {
	rest := l.text[len("NET/"):]
	end := bytes.IndexAny(rest, " :")
	if end <= 0 || end > 40 {
		return
	}
	name, said := rest[:end], bytes.TrimLeft(rest[end:], " :")
	switch string(name) {
	case "OFI":
		readOFI(p, r, l, said)
	case "Plugin":
		readLoaded(p, r, said)
	case "IB":
		r.Verbs = r.Verbs || !find.Begins(said, "No ") && !find.Begins(said, "Using ") && !find.Begins(said, "Failed ")
		readDevice(p, r, l, said)
	case "Socket":
		if list, ok := bytes.CutPrefix(said, []byte("Using ")); ok {
			readInterfaces(p, r, l, list)
			return
		}
		readDevice(p, r, l, said)
	default:
		if readDevice(p, r, l, said) {
			addPlugin(p, r, name)
		}
	}
}

// readDevice reads a line about devices. It reports whether a plugin may have written the line.
func readDevice(p *Parser, r *rank, l *logLine, said []byte) bool {
	switch {
	case find.Begins(said, "Using "):
		readUsing(p, r, l, said[len("Using "):])
	case find.Begins(said, "GPU Direct RDMA "):
		readAbility(p, r, l, said)
	case find.Begins(said, "No device found"):
		keepNotice(p, r, l, event.NoDevice)
		return false
	case find.Begins(said, "NCCL "), find.Begins(said, "Dev "):
		r.queuePair(l, string(said))
		return false
	case find.Begins(said, "There are mismatched physical devices"):
		keepNotice(p, r, l, event.DevicesDiffer)
		return false
	case find.Begins(said, "Made virtual device "):
		readVirtual(p, r, said)
		return false
	case bytes.Contains(said, []byte("retrieved an 'unused' request")):
		keep(p, r, event.New(event.Stalled, "unused-request", l.quote()))
		return false
	case bytes.Contains(said, []byte(": Replacing QP: ")): // after the name of the function
		e := event.New(event.FailedOver, "queue-pairs-moved", l.quote())
		e.Info = true
		keep(p, r, e)
		return false
	}
	return true
}

// readLoaded reads "Loaded net plugin IBext_v10 (v10)" and "Loaded net plugin AWS Libfabric (v8)".
func readLoaded(p *Parser, r *rank, said []byte) {
	if name, ok := bytes.CutPrefix(said, []byte("Loaded net plugin ")); ok {
		name, _, _ = bytes.Cut(name, []byte(" ("))
		addPlugin(p, r, name)
	}
}

// readOFI reads the lines of the AWS plugin. That it is loaded names the network; once it has a provider, NCCL uses it,
// unless another line says what NCCL uses. NCCL up to 2.4 has no such line.
func readOFI(p *Parser, r *rank, l *logLine, said []byte) {
	selected := find.Begins(said, "Selected provider is ") || find.Begins(said, "Selected Provider is ")
	if !selected && !find.Begins(said, "Initializing aws-ofi-nccl") {
		return
	}
	addPlugin(p, r, []byte("AWS Libfabric"))
	if selected || r.Listed.Text == "" {
		r.Listed = l.quote()
	}
	if selected && r.Network == "" {
		choose(p, r, "AWS Libfabric", r.Listed)
	}
}

// readUsing reads the list of devices: "[0]mlx5_6:1/RoCE [1]mlx5_7:1/RoCE [RO]; OOB eth0:10.128.2.15<0>". From 2.24 on
// it may be empty.
func readUsing(p *Parser, r *rank, l *logLine, list []byte) {
	list, oob, ok := bytes.Cut(list, []byte("; OOB "))
	if ok {
		r.OOB = p.ranks.texts.address(oob)
	}
	found := p.ranks.texts.hcas(list)
	r.Listed, r.HCAs, r.Virtual = l.quote(), found.devices, append(r.Virtual, found.joined...)
	if len(r.HCAs) == 0 {
		keepNotice(p, r, l, event.NoDevice)
	}
}

// readInterfaces reads the list of NET/Socket: "[0]eth0:10.128.2.15<0> [1]eth1:10.128.3.15<0>".
func readInterfaces(p *Parser, r *rank, l *logLine, list []byte) {
	r.Sockets = nil
	for field := range bytes.FieldsSeq(list) {
		if a := p.ranks.texts.address(field); a.Interface != "" && len(r.Sockets) < maxList {
			r.Sockets = append(r.Sockets, a)
		}
	}
	l.first(&r.Listed)
}

type deviceList struct {
	devices, joined []HCA
}

// hcas reads a list of devices; ranks with the same one share it. 2.20 to 2.23 join devices in braces and number the
// result: [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}. 2.30 may add rail and plane to the port.
func (p *vocabulary) hcas(text []byte) deviceList {
	if found, ok := p.lists[string(text)]; ok {
		return found
	}
	var found deviceList
	outer := -1
	for rest := text; len(found.devices) < maxList; {
		_, after, opened := bytes.Cut(rest, []byte("["))
		digits, after, closed := bytes.Cut(after, []byte("]"))
		if !opened || !closed {
			break
		}
		rest = bytes.TrimLeft(after, " ")
		index, isNumber := prefix.Whole(digits)
		if find.Begins(rest, "={") {
			outer = index
			continue
		}
		name := rest
		if end := bytes.IndexAny(rest, " ,}"); end >= 0 {
			name = rest[:end]
		}
		h, ok := p.hca(name)
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

// join adds a device to the virtual one that stands for several.
func (l *deviceList) join(outer int, name string) {
	i := slices.IndexFunc(l.joined, func(h HCA) bool { return h.Index == outer })
	if i < 0 {
		l.joined = append(l.joined, HCA{Index: outer, Name: name})
		return
	}
	l.joined[i].Name = find.Cut(l.joined[i].Name+"+"+name, 200)
}

// hca reads "mlx5_6:1/RoCE", and "mlx5_0:1/IB/SHARP" of HPC-X.
func (p *vocabulary) hca(text []byte) (HCA, bool) {
	text = bytes.TrimSuffix(text, []byte("/SHARP"))
	slash, colon := bytes.LastIndexByte(text, '/'), bytes.IndexByte(text, ':')
	if colon <= 0 || colon > slash {
		return HCA{}, false
	}
	port := find.NumberAfter(string(text[colon:]), ":")
	name, direct := bytes.CutSuffix(text[:colon], []byte("_dma"))
	return HCA{Name: p.word(name), Port: port, Layer: p.word(text[slash+1:]), DataDirect: direct}, true
}

// readVirtual reads a device that 2.24 and later join from several: "[4] name=mlx5_0+mlx5_1 speed=800000 ndevs=2". Its
// index follows the indexes of the physical devices.
func readVirtual(p *Parser, r *rank, said []byte) {
	const most = 8
	index := find.NumberAfter(string(said), "[")
	_, rest, ok := bytes.Cut(said, []byte("name="))
	name, _, _ := bytes.Cut(rest, []byte(" "))
	if ok && index >= 0 && bytes.IndexByte(rest, '+') >= 0 && len(name) <= 200 && len(r.Virtual) < most {
		r.Virtual = append(r.Virtual, HCA{Index: index, Name: p.ranks.texts.word(name)})
	}
}

// readAbility reads whether a NIC and its driver can use GPUDirect, which does not prove that they do: "GPU Direct RDMA
// Enabled for HCA 0 'mlx5_0'", and of HPC-X "GPU Direct RDMA (DMABUF) enabled for HCA 0 'mlx5_0".
func readAbility(p *Parser, r *rank, l *logLine, said []byte) {
	list := &r.GPUDirect.Enabled
	if !find.Begins(said, "GPU Direct RDMA Enabled") && !bytes.Contains(said, []byte(") enabled for HCA ")) {
		list = &r.GPUDirect.Disabled
		l.first(&r.GPUDirect.DisabledAt)
	}
	name := said
	if _, quoted, ok := bytes.Cut(said, []byte("'")); ok {
		name = bytes.TrimRight(quoted, "' \r\n")
	}
	if len(*list) < maxList && len(name) < 200 && !slices.Contains(*list, string(name)) {
		*list = append(*list, p.ranks.texts.word(name))
	}
}

// queuePair reads "NCCL Dev 0 IbDev 0 Port 1 qpn 364 mtu 5 GID 3 (0/B9D4E80AFFFF0000)" of RoCE, and "... LID 12 ..."
// of InfiniBand.
func (r *rank) queuePair(l *logLine, said string) {
	if mtu := find.NumberAfter(said, " mtu "); mtu > 0 {
		r.QueuePair.MTU = mtu
	}
	if index := find.NumberAfter(said, " GID "); index >= 0 {
		r.QueuePair.HasGID = true
		l.first(&r.QueuePair.At)
		if i, known := slices.BinarySearch(r.QueuePair.GIDs, index); !known && len(r.QueuePair.GIDs) < maxList {
			r.QueuePair.GIDs = slices.Insert(r.QueuePair.GIDs, i, index)
		}
	}
	r.QueuePair.HasLID = r.QueuePair.HasLID || find.NumberAfter(said, " LID ") >= 0
}
