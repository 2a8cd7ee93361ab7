package nccllog

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// search finds many words at once. It looks up every third triple of bytes in a table, and compares only where the
// triple can be one of a word, so its cost hardly depends on the number of words.
type search struct {
	triples [1 << 16]uint8 // by key: 0, or 1 + the index into lists
	lists   [][]word
}

type word struct {
	text string
	from int    // index of the five bytes whose three triples the table has
	four uint32 // the first four of them
}

const (
	stride    = 3 // five bytes have three triples: one of them is looked up
	minWord   = 4
	mostLists = 255 // a byte of the table tells them apart; 0 is none
)

// mayFollow reports whether a byte may follow a word of four bytes that ends in last. Such a word has only two triples
// and needs a third one: it is found where a word ends, or where another begins, as in ncclSystemError.
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

// mixed returns the keys of all triples of a text: 16 bits at the first of three bytes, which depend on all of them.
// Few triples of text share a key.
func mixed(text uint64) uint64 { return text ^ text>>7 }

func keyOf(a, b, c byte) uint16 { return uint16(mixed(uint64(a) | uint64(b)<<8 | uint64(c)<<16)) }

func keyAt(text []byte, at int) uint16 { return keyOf(text[at], text[at+1], text[at+2]) }

// newSearch prepares the search for words of at least four bytes.
func newSearch(words []string) *search {
	s := &search{}
	common := commonTriples()
	for _, text := range words {
		if len(text) < minWord {
			panic("search for " + text + ": a word of fewer than four bytes can be passed over")
		}
		from := rarest([]byte(text), common)
		w := word{text, from, binary.LittleEndian.Uint32([]byte(text[from:]))}
		for at := from; at < from+stride; at++ {
			if at+3 <= len(text) {
				s.add(w, keyAt([]byte(text), at))
				continue
			}
			last := text[len(text)-1]
			for c := range 256 {
				if mayFollow(last, byte(c)) {
					s.add(w, keyOf(text[at], last, byte(c)))
				}
			}
		}
	}
	return s
}

// add adds a word to the list of a key.
func (s *search) add(w word, key uint16) {
	var words []word
	if at := s.triples[key]; at != 0 {
		words = s.lists[at-1]
	}
	if slices.Contains(words, w) {
		return
	}
	words = append(slices.Clip(words), w)
	i := slices.IndexFunc(s.lists, func(other []word) bool { return slices.Equal(other, words) })
	if i < 0 {
		i = len(s.lists)
		s.lists = append(s.lists, words)
	}
	if i >= mostLists {
		panic("search: too many words for the table")
	}
	s.triples[key] = uint8(i + 1)
}

// usual is typical text of logs. The table has the triples of a word that are rarest in it.
const usual = `INFO:data.loader:worker 3 of rank 73 opened shard /mnt/datasets/tokens/part-30068-of-99999.bin in
30.7778 ms
[2025-11-20 23:56:00] iteration 12000/ 500000 | consumed samples: 491520 | elapsed time per
iteration (ms): 8123.4 |
throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.200000E-04 | global batch size: 4096 |
lm loss: 2.134567E+00
{"time": "2025-11-21T10:00:00Z", "level": "INFO", "message": "saved checkpoint and optimizer
state", "step": 100}
/usr/lib/python3.11/site-packages/torch/utils/data/loader.py:295: UserWarning: this is deprecated,
use another instead.
epoch 3, evaluation accuracy 0.873, memory allocated 61.42 GiB reserved, forward 2582 ms, backward
5137 ms, gradient norm
[rank 0] memory (MB) | allocated | max reserved per device; remaining steps, reduced loss scale,
released, pipeline group, output
directory, iterator and operator of rotary layers, dataloader_wait, **kwargs, summary every period,
recompute, current tensor
[rank1939]: Training from the beginning with model parameters, before after number process
distributed parallel default
100%|██████████| 1200/1200 [02:41<00:00, 8.12s/it, loss=2.13] 2025-11-21 09:04:37,816 - root -
WARNING - closed dataset
gpu-0383:21334:21635 [5] NCCL INFO Channel 08/1 : 3069[5] -> 3101[5] [send] via
NET/IB/5/GDRDMA/Shared via P2P/CUMEM`

// commonTriples counts, by key, the triples of usual text and of numbers.
func commonTriples() *[1 << 16]int {
	const digits = "0123456789.: ,-/]"
	var common [1 << 16]int
	for at := range len(usual) - 2 {
		common[keyAt([]byte(usual), at)] += 32
	}
	for i := range len(digits) * len(digits) * len(digits) {
		common[keyOf(digits[i%len(digits)], digits[i/len(digits)%len(digits)], digits[i/len(digits)/len(digits)])]++
	}
	return &common
}

// rarest returns the index in the word of the three triples that usual text has least.
func rarest(text []byte, common *[1 << 16]int) int {
	best, least := 0, -1
	for from := 0; from+minWord <= len(text); from++ {
		if from+stride+2 > len(text) && least >= 0 {
			break // fewer bytes than three triples have
		}
		sum := 0
		for at := from; at < from+stride && at+3 <= len(text); at++ {
			sum += common[keyAt(text, at)]
		}
		if least < 0 || sum < least {
			best, least = from, sum
		}
	}
	return best
}

const (
	group = 8 * stride   // bytes that are examined together
	reach = 6*stride + 8 // bytes that are loaded for them
	next  = 8 * stride   // bits to the second triple of a load
)

// find returns the index of a word from an index on, or -1. No other word ends before it begins.
func (s *search) find(text []byte, from int) int {
	at := s.suspect(text, from)
	for ; len(text)-at >= reach; at = s.suspect(text, at+group) {
		if found := s.compare(text, from, at, s.entries(text[at:])); found >= 0 {
			return found
		}
	}
	var tail [reach]byte
	copy(tail[:], text[at:])
	return s.compare(text, from, at, s.entries(tail[:]))
}

// suspect returns the index of the first group that has a triple of a word, or at which too few bytes are left.
func (s *search) suspect(text []byte, at int) int {
	triples := &s.triples
	rest := text[at:]
	for ; len(rest) >= reach; rest = rest[group:] {
		a := mixed(binary.LittleEndian.Uint64(rest))
		b := mixed(binary.LittleEndian.Uint64(rest[2*stride:]))
		c := mixed(binary.LittleEndian.Uint64(rest[4*stride:]))
		d := mixed(binary.LittleEndian.Uint64(rest[6*stride:]))
		if triples[uint16(a)]|triples[uint16(a>>next)]|triples[uint16(b)]|triples[uint16(b>>next)]|
			triples[uint16(c)]|triples[uint16(c>>next)]|triples[uint16(d)]|triples[uint16(d>>next)] != 0 {
			break
		}
	}
	return len(text) - len(rest)
}

// entries returns those of the table for the eight triples of a group, a byte each.
func (s *search) entries(text []byte) uint64 {
	triples := &s.triples
	a := mixed(binary.LittleEndian.Uint64(text))
	b := mixed(binary.LittleEndian.Uint64(text[2*stride:]))
	c := mixed(binary.LittleEndian.Uint64(text[4*stride:]))
	d := mixed(binary.LittleEndian.Uint64(text[6*stride:]))
	return uint64(triples[uint16(a)]) | uint64(triples[uint16(a>>next)])<<8 |
		uint64(triples[uint16(b)])<<16 | uint64(triples[uint16(b>>next)])<<24 |
		uint64(triples[uint16(c)])<<32 | uint64(triples[uint16(c>>next)])<<40 |
		uint64(triples[uint16(d)])<<48 | uint64(triples[uint16(d>>next)])<<56
}

// compare returns the index of a word, no earlier than from, that has a triple of the group at an index, or -1.
func (s *search) compare(text []byte, from, at int, entries uint64) int {
	for entries != 0 {
		i := bits.TrailingZeros64(entries) / 8
		words := s.lists[uint8(entries>>(8*i))-1]
		entries &^= 0xff << (8 * i)
		for j := range words {
			if first := words[j].around(text, from, at+i*stride); first >= 0 {
				return first
			}
		}
	}
	return -1
}

// around returns the index of the word, no earlier than from, if it has a triple at the given index, or -1.
func (w *word) around(text []byte, from, triple int) int {
	for at := triple; at > triple-stride; at-- {
		first := at - w.from
		end := first + len(w.text)
		if first < from || end > len(text) || binary.LittleEndian.Uint32(text[at:]) != w.four {
			continue
		}
		if len(w.text) == minWord && (end == len(text) || !mayFollow(text[end-1], text[end])) {
			continue // two of its triples are there without what must follow
		}
		if string(text[first:end]) == w.text {
			return first
		}
	}
	return -1
}
