package nccllog

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/railhead/railhead/internal/lines"
)

// screen holds what the search for many words at once needs. The search looks up every third triple of bytes in a
// table, and compares only where the triple may be of one of the words: how many words there are costs little.
type screen struct {
	triples [1 << 16]uint8 // by key: 0, or 1 + the index into words
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
	stride  = 3
	minWord = 4
)

// mayFollow reports whether a byte may follow a word of four bytes that ends in last. Such a word has two triples of
// its own and needs a third: it is found where a word ends, or where another begins as in ncclSystemError.
func mayFollow(last, c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c > '~':
		return false
	case 'A' <= c && c <= 'Z':
		return last < 'A' || last > 'Z'
	case c < ' ':
		return c == '\t' || c == '\n' || c == '\r' || c == lines.Escape || c == 0
	}
	return true
}

// mixed has the keys of triples in it: that of three bytes is the 16 bits where they begin, which have something of
// all of them. Few triples of text have the same key.
func mixed(text uint64) uint64 { return text ^ text>>7 }

func keyOf(a, b, c byte) uint16 { return uint16(mixed(uint64(a) | uint64(b)<<8 | uint64(c)<<16)) }

func keyAt(text []byte, at int) uint16 { return keyOf(text[at], text[at+1], text[at+2]) }

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
				s.add(w, keyAt([]byte(text), w.offset))
				continue
			}
			for c := range 256 {
				if last := text[len(text)-1]; mayFollow(last, byte(c)) {
					s.add(w, keyOf(text[w.offset], last, byte(c)))
				}
			}
		}
	}
	return s
}

// add enters a word under the key of a triple.
func (s *screen) add(w word, key uint16) {
	list := &s.triples[key]
	words := []word{w}
	if *list != 0 {
		if slices.Contains(s.words[*list-1], w) {
			return
		}
		words = append(slices.Clone(s.words[*list-1]), w)
	}
	i := slices.IndexFunc(s.words, func(other []word) bool { return slices.Equal(other, words) })
	switch {
	case i >= 0:
	case len(s.words) < mostLists-1:
		i = len(s.words)
		s.words = append(s.words, words)
	default: // the last list takes all that the table cannot tell apart
		i = mostLists - 1
		s.words = append(s.words, nil)[:mostLists]
		for _, w := range words {
			if !slices.Contains(s.words[i], w) {
				s.words[i] = append(s.words[i], w)
			}
		}
	}
	*list = uint8(i + 1)
}

// mostLists is the number of word lists that a byte can distinguish; 0 is none.
const mostLists = 255

// usual is typical text of logs. The table finds words by their triples that this text has least.
const usual = `INFO:data.loader:worker 3 of rank 73 opened shard /mnt/datasets/tokens/part-30068-of-99999.bin in 30.7778 ms
[2025-11-20 23:56:00] iteration 12000/ 500000 | consumed samples: 491520 | elapsed time per iteration (ms): 8123.4 |
throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.200000E-04 | global batch size: 4096 | lm loss: 2.134567E+00
{"time": "2025-11-21T10:00:00Z", "level": "INFO", "message": "saved checkpoint and optimizer state", "step": 100}
/usr/lib/python3.11/site-packages/torch/utils/data/loader.py:295: UserWarning: this is deprecated, use another instead.
epoch 3, evaluation accuracy 0.873, memory allocated 61.42 GiB reserved, forward 2582 ms, backward 5137 ms, gradient norm
[rank 0] memory (MB) | allocated | max reserved per device; remaining steps, reduced loss scale, released, pipeline group, output
directory, iterator and operator of rotary layers, dataloader_wait, **kwargs, summary every period, recompute, current tensor
[rank1939]: Training from the beginning with model parameters, before after number process distributed parallel default
100%|██████████| 1200/1200 [02:41<00:00, 8.12s/it, loss=2.13] 2025-11-21 09:04:37,816 - root - WARNING - closed dataset
gpu-0383:21334:21635 [5] NCCL INFO Channel 08/1 : 3069[5] -> 3101[5] [send] via NET/IB/5/GDRDMA/Shared via P2P/CUMEM`

// commonTriples counts the triples of this key in such text, and in numbers of all kinds.
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

// rarest returns the offset in the word of the triples that the table confuses least.
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

// group is the number of bytes that are examined together.
const (
	group = 8 * stride
	reach = 6*stride + 8 // of the loads of one group
	next  = 8 * stride   // bits to the second triple of a load
)

// find returns where a word is from a place on, or -1. Of several it is one of the first: no word ends before it
// begins.
func (s *screen) find(text []byte, from int) int {
	at := s.suspect(text, from)
	for ; len(text)-at >= reach; at = s.suspect(text, at+group) {
		if found := s.compare(text, from, at, s.lists(text[at:])); found >= 0 {
			return found
		}
	}
	var tail [reach]byte
	copy(tail[:], text[at:])
	return s.compare(text, from, at, s.lists(tail[:]))
}

// suspect returns where the first group from a place on begins that has a triple of a word, or where too few bytes
// are left.
func (s *screen) suspect(text []byte, at int) int {
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

// lists returns the table's entries for the eight triples of a group, a byte each.
func (s *screen) lists(text []byte) uint64 {
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

// compare returns where a word begins, no earlier than from, that has one of the triples of the group at a place; or
// -1.
func (s *screen) compare(text []byte, from, at int, lists uint64) int {
	for lists != 0 {
		i := bits.TrailingZeros64(lists) / 8
		list := s.words[uint8(lists>>(8*i))-1]
		lists &^= 0xff << (8 * i)
		for j := range list {
			w := &list[j]
			first := at + i*stride - w.offset
			end := first + len(w.text)
			if first < from || end > len(text) || binary.LittleEndian.Uint32(text[first+w.offset-w.back:]) != w.four {
				continue
			}
			if len(w.text) == minWord && (end == len(text) || !mayFollow(text[end-1], text[end])) {
				continue // two of its triples are there without what must follow
			}
			if string(text[first:end]) == w.text {
				return first
			}
		}
	}
	return -1
}
