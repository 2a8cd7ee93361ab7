package nccllog

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// screen holds what the search for many words at once needs. The search looks up every third triple of bytes in a table, and
// compares only where the triple may be of one of the words: how many words there are costs little.
type screen struct {
	triples [1 << tripleBits]uint8 // by hash: 0, or 1 + the index into words
	words   [][]word
}

// word is a word that has a triple of bytes at an offset.
type word struct {
	text   string
	offset int
	four   uint32 // the first four bytes that triples were taken from
	back   int    // from the triple to them
}

// Of three triples that follow one another, which five bytes have, one is looked up.
const (
	stride     = 3
	minWord    = 4
	tripleBits = 14
)

// mayFollow reports whether a byte may follow a word of four bytes that ends in last. Such a word has two triples of its own
// and needs a third: it is found where a word ends, or where another begins as in ncclSystemError.
func mayFollow(last, c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c > '~':
		return false
	case 'A' <= c && c <= 'Z':
		return last < 'A' || last > 'Z'
	case c < ' ':
		return c == '\t' || c == '\n' || c == '\r' || c == escape || c == 0
	}
	return true
}

func hash(triple uint64) uint32 {
	const golden = 0x9e3779b1 // Knuth, The Art of Computer Programming, volume 3, 6.4: multiplicative hashing
	return uint32(triple<<8) * golden >> (32 - tripleBits)
}

func tripleAt(text []byte, at int) uint64 {
	return uint64(text[at]) | uint64(text[at+1])<<8 | uint64(text[at+2])<<16
}

// newScreen prepares the search for words of at least four bytes.
func newScreen(words []string) *screen {
	s := &screen{}
	common := commonTriples()
	for _, text := range words {
		if len(text) < minWord {
			panic("screen for " + text + ": a word of fewer than four bytes can be passed over")
		}
		from := rarest([]byte(text), common)
		four := binary.LittleEndian.Uint32([]byte(text[from:]))
		for back := range stride {
			w := word{text, from + back, four, back}
			if w.offset+3 <= len(text) {
				s.add(w, tripleAt([]byte(text), w.offset))
				continue
			}
			for c := range 256 {
				if last := text[len(text)-1]; mayFollow(last, byte(c)) {
					s.add(w, tripleAt([]byte{text[w.offset], last, byte(c)}, 0))
				}
			}
		}
	}
	return s
}

// add enters a word under a triple.
func (s *screen) add(w word, triple uint64) {
	list := &s.triples[hash(triple)]
	words := []word{w}
	if *list != 0 {
		if slices.Contains(s.words[*list-1], w) {
			return
		}
		words = append(slices.Clone(s.words[*list-1]), w)
	}
	i := slices.IndexFunc(s.words, func(other []word) bool { return slices.Equal(other, words) })
	if i < 0 {
		i = len(s.words)
		s.words = append(s.words, words)
	}
	if i >= 255 {
		panic("screen: more words than the table can tell apart")
	}
	*list = uint8(i + 1)
}

// usual is what most of a log looks like. Words are found by those of their triples that the table does not mix up with any
// of it.
const usual = `INFO:data.loader:worker 3 of rank 73 opened shard /mnt/datasets/tokens/part-30068-of-99999.bin in 30.7778 ms
[2025-11-20 23:56:00] iteration 12000/ 500000 | consumed samples: 491520 | elapsed time per iteration (ms): 8123.4 |
throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.200000E-04 | global batch size: 4096 | lm loss: 2.134567E+00
{"time": "2025-11-21T10:00:00Z", "level": "INFO", "message": "saved checkpoint and optimizer state", "step": 100}
/usr/lib/python3.11/site-packages/torch/utils/data/loader.py:295: UserWarning: this is deprecated, use another instead.
epoch 3, evaluation accuracy 0.873, memory allocated 61.42 GiB reserved, forward 2582 ms, backward 5137 ms, gradient norm
[rank1939]: Training from the beginning with model parameters, before after number process distributed parallel default
100%|██████████| 1200/1200 [02:41<00:00, 8.12s/it, loss=2.13] 2025-11-21 09:04:37,816 - root - WARNING - closed dataset
gpu-0383:21334:21635 [5] NCCL INFO Channel 08/1 : 3069[5] -> 3101[5] [send] via NET/IB/5/GDRDMA/Shared via P2P/CUMEM`

// commonTriples are how often a triple of this hash is in such text, and in numbers of all kinds.
func commonTriples() *[1 << tripleBits]int {
	const digits = "0123456789.: ,-/]"
	var common [1 << tripleBits]int
	for at := range len(usual) - 2 {
		common[hash(tripleAt([]byte(usual), at))] += 32
	}
	for i := range len(digits) * len(digits) * len(digits) {
		triple := []byte{digits[i%len(digits)], digits[i/len(digits)%len(digits)], digits[i/len(digits)/len(digits)]}
		common[hash(tripleAt(triple, 0))]++
	}
	return &common
}

// rarest is where in the word the triples begin that the table mixes up least.
func rarest(text []byte, common *[1 << tripleBits]int) int {
	best, least := 0, -1
	for from := 0; from+minWord <= len(text); from++ {
		if from+stride+2 > len(text) && least >= 0 {
			break // fewer bytes than three triples have
		}
		sum := 0
		for at := from; at < from+stride && at+3 <= len(text); at++ {
			sum += common[hash(tripleAt(text, at))]
		}
		if least < 0 || sum < least {
			best, least = from, sum
		}
	}
	return best
}

// group is how many bytes are judged together, and groups how many such are judged before the suspicious ones are compared.
const (
	group  = 6 * stride
	groups = 64
	reach  = 4*stride + 8 // of the loads of one group
)

// search is a search in one text, in which the places that are asked for only grow.
type search struct {
	*screen
	text     []byte
	judged   int // up to here
	suspects [groups]int32
	count    int // of suspects
	next     int // suspect to compare
}

// begin begins a search.
func (s *search) begin(text []byte) { s.text, s.judged, s.count, s.next = text, 0, 0, 0 }

// find returns where a word is from a place on, or -1. Of several it is one of the first: no word ends before it begins.
func (s *search) find(from int) int {
	s.judged = max(s.judged, from/group*group)
	for {
		for s.next < s.count {
			at := int(s.suspects[s.next])
			if at+group > from {
				if found := s.compare(at, from); found >= 0 {
					return found
				}
			}
			s.next++
		}
		if s.judged >= len(s.text) {
			return -1
		}
		s.judge()
	}
}

// judge collects the next groups that have a triple of a word. It decides nothing by a branch, as suspicion is too frequent
// to be predicted. The bytes at the end of the text, which are no full group, are suspicious as they are.
func (s *search) judge() {
	rest, triples, count := s.text[s.judged:], &s.triples, 0
	at := int32(s.judged)
	for range groups - 2 {
		if len(rest) < reach {
			break
		}
		x := binary.LittleEndian.Uint64(rest)
		y := binary.LittleEndian.Uint64(rest[2*stride:])
		z := binary.LittleEndian.Uint64(rest[4*stride:])
		found := triples[hash(x)] | triples[hash(x>>(8*stride))] |
			triples[hash(y)] | triples[hash(y>>(8*stride))] |
			triples[hash(z)] | triples[hash(z>>(8*stride))]
		s.suspects[count&(groups-1)] = at
		one := 0
		if found != 0 {
			one = 1
		}
		count += one
		at += group
		rest = rest[group:]
	}
	for len(rest) > 0 && len(rest) < reach {
		s.suspects[count] = at
		count++
		at += group
		rest = rest[min(group, len(rest)):]
	}
	s.judged, s.count, s.next = int(at), count, 0
}

// compare returns where a word begins, no earlier than from, that has one of the triples of a group; or -1.
func (s *search) compare(at, from int) int {
	lists := s.lists(at)
	for lists != 0 {
		i := bits.TrailingZeros64(lists) / 8
		list := s.words[uint8(lists>>(8*i))-1]
		lists &^= 0xff << (8 * i)
		for j := range list {
			w := &list[j]
			place := at + i*stride
			four, first := place-w.back, place-w.offset
			if first < from || first+len(w.text) > len(s.text) || binary.LittleEndian.Uint32(s.text[four:]) != w.four {
				continue
			}
			end := first + len(w.text)
			if len(w.text) == minWord && (end == len(s.text) || !mayFollow(s.text[end-1], s.text[end])) {
				continue // two of its triples are there without what must follow
			}
			if string(s.text[first:end]) == w.text {
				return first
			}
		}
	}
	return -1
}

// lists are what the table has for the six triples of a group, a byte each.
func (s *search) lists(at int) (lists uint64) {
	if at+reach > len(s.text) {
		for i := 0; i < group && at+i+3 <= len(s.text); i += stride {
			lists |= uint64(s.triples[hash(tripleAt(s.text, at+i))]) << (8 * i / stride)
		}
		return lists
	}
	text, triples := s.text[at:at+reach], &s.triples
	x := binary.LittleEndian.Uint64(text)
	y := binary.LittleEndian.Uint64(text[2*stride:])
	z := binary.LittleEndian.Uint64(text[4*stride:])
	return uint64(triples[hash(x)]) | uint64(triples[hash(x>>(8*stride))])<<8 |
		uint64(triples[hash(y)])<<16 | uint64(triples[hash(y>>(8*stride))])<<24 |
		uint64(triples[hash(z)])<<32 | uint64(triples[hash(z>>(8*stride))])<<40
}
