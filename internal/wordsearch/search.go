// Package wordsearch finds the first of many words in a text, nearly as fast as memory delivers the text, and rules out
// words that a text does not have.
package wordsearch

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Set is some words to find at once. Find looks up every third triple of bytes in a table, and compares only where the
// triple can be one of a word, and the byte after it can follow there. So its cost hardly depends on the number of
// words.
type Set struct {
	follow [1 << 16]uint8  // by key of a triple: the bits of bytes that may follow it in a word; 0: it is in none
	index  [1 << 16]uint16 // by key of a triple: of the words that have it
	lists  [][]word
	class  [256]uint8 // classOf each byte
}

type word struct {
	text string
	from int    // index of the five bytes whose three triples the table has
	four uint32 // the first four of them
}

const (
	stride  = 3 // five bytes have three triples: one of them is looked up
	minWord = 4
	anyByte = 0xff // all bits of bytes that may follow
)

// classOf returns the class of a byte, one of eight bits: a mask of them says which bytes may follow a triple. Most of
// a text is lower-case letters, so they have four classes.
func classOf(c byte) uint8 {
	switch {
	case '0' <= c && c <= '9':
		return 1
	case c <= ' ':
		return 1 << 1
	case 'A' <= c && c <= 'Z':
		return 1 << 2
	case 'a' <= c && c <= 'z':
		return 1 << (3 + c&3)
	}
	return 1 << 7
}

// mayFollow reports whether a byte may follow a word of four bytes that ends in last. Such a word has only two triples
// and needs a third one: it is found where a word ends, or where another begins, as in ncclSystemError.
func mayFollow(last, c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c > '~':
		return false
	case 'A' <= c && c <= 'Z':
		return last < 'A' || last > 'Z'
	case c < ' ':
		return c == '\t' || c == '\n' || c == '\r' || c == '\x1b' || c == 0
	}
	return true
}

// mixed returns the keys of all triples of a text: 16 bits at the first of three bytes, which depend on all of them.
// Few triples of text share a key.
func mixed(text uint64) uint64 { return text ^ text>>5 }

func keyOf(a, b, c byte) uint16 { return uint16(mixed(uint64(a) | uint64(b)<<8 | uint64(c)<<16)) }

func keyAt(text []byte, at int) uint16 { return keyOf(text[at], text[at+1], text[at+2]) }

// New prepares the search for words of at least four bytes.
func New(words []string) *Set {
	s := &Set{}
	for c := range s.class {
		s.class[c] = classOf(byte(c))
	}
	common := commonTriples()
	for _, text := range words {
		if len(text) < minWord {
			panic("search for " + text + ": a word of fewer than four bytes can be passed over")
		}
		from := s.rarest([]byte(text), common)
		w := word{text, from, binary.LittleEndian.Uint32([]byte(text[from:]))}
		for at := from; at < from+stride; at++ {
			if at+3 <= len(text) {
				s.add(w, keyAt([]byte(text), at), after(text, at+3))
				continue
			}
			last := text[len(text)-1]
			for c := range 256 {
				if mayFollow(last, byte(c)) {
					s.add(w, keyOf(text[at], last, byte(c)), anyByte)
				}
			}
		}
	}
	return s
}

// after returns the bit of a byte of the text, or all bits behind its end.
func after(text string, at int) uint8 {
	if at < len(text) {
		return classOf(text[at])
	}
	return anyByte
}

// add adds a word to the list of a key.
func (s *Set) add(w word, key uint16, follow uint8) {
	if s.follow[key] == 0 {
		s.index[key] = uint16(len(s.lists))
		s.lists = append(s.lists, nil)
	}
	s.follow[key] |= follow
	if list := &s.lists[s.index[key]]; !slices.Contains(*list, w) {
		*list = append(*list, w)
	}
}

// usual is typical text of logs. The table has triples that are rare in it.
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
NET/IB/5/GDRDMA/Shared [receive] via P2P/CUMEM
[rank2554]: step 110605 loss 2.1420 tokens/s 3129.0 GiB opened (prefetch 4, pinned) Comm
configuration of connections
/torch/utils/checkpoint.py:295: FutureWarning: torch.cpu.amp.autocast(args...) is deprecated.
Please use device to enable
step: 10  loss: 8.1234  grad_norm: 1.2345  memory: 30.12GiB(38.11%)  tps: 12,345  tflops: 123.45  mfu: 40.12%
{'loss': 2.1345, 'grad_norm': 1.23, 'learning_rate': 5e-05, 'epoch': 0.12} iter 100: loss 2.1345, time 123.45ms
Epoch 0: 1%| | 100/10000 [01:23<2:34:56, v_num=0, reduced_train_loss=7.890, global_step=99.00, consumed_samples=25600.0,
train_step_timing in s=1.230] step 20, tokens per second 31290, tokens/s/gpu 3129, steps of 10000, sequence of tokens
communication of a common command on every device, refined container. waited in use default, lookahead. is nan,
fatal: unused, resides devices, service do nothing at times inside, moved into combined data
supported buffers, Timeout(ms)=600000, found no errors, Error: not found, runtime version, host
name, user provided, available`

// triples counts triples by key and by the class of the byte that follows.
type triples map[triple]int

type triple struct {
	key   uint16
	class uint8
}

func (t triples) count(text []byte, at, n int) { t[triple{keyAt(text, at), classOf(text[at+3])}] += n }

// followed returns how many triples with a key are followed by a byte of one of the classes.
func (t triples) followed(key uint16, classes uint8) (n int) {
	for ; classes != 0; classes &= classes - 1 {
		n += t[triple{key, classes & -classes}]
	}
	return n
}

// commonTriples counts the triples of usual text, whatever its digits, and of numbers.
func commonTriples() triples {
	const digits = "0123456789.: ,-/]"
	const n = len(digits)
	common := triples{}
	text := []byte(usual)
	for range 10 {
		for at := range len(text) - 3 {
			common.count(text, at, 4)
		}
		nextDigits(text)
	}
	for i := range n * n * n {
		for _, next := range []byte("0 a") {
			common.count([]byte{digits[i%n], digits[i/n%n], digits[i/n/n], next}, 0, 1)
		}
	}
	return common
}

// nextDigits replaces each digit by the one after it, and 9 by 0.
func nextDigits(text []byte) {
	for i, c := range text {
		if '0' <= c && c <= '9' {
			text[i] = '0' + (c-'0'+1)%10
		}
	}
}

// rarest returns the index in the word of the three triples that usual text has least. A triple that the table has
// already, for another word, costs nothing more.
func (s *Set) rarest(text []byte, common triples) int {
	best, least := 0, -1
	for from := 0; from+minWord <= len(text); from++ {
		if from+stride+2 > len(text) && least >= 0 {
			break // fewer bytes than three triples have
		}
		sum := 0
		for at := from; at < from+stride && at+3 <= len(text); at++ {
			key, by := keyAt(text, at), after(string(text), at+3)
			sum += common.followed(key, by&^s.follow[key])
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

// Find returns the index of a word from an index on, or -1. No other word ends before it begins.
func (s *Set) Find(text []byte, from int) int {
	at := s.suspect(text, from)
	for ; len(text)-at >= reach; at = s.suspect(text, at+group) {
		if found := s.compare(text, from, at, text[at:]); found >= 0 {
			return found
		}
	}
	var tail [reach]byte
	copy(tail[:], text[at:])
	return s.compare(text, from, at, tail[:])
}

// suspect returns the index of the first group that has a triple of a word, and after it a byte that may follow there,
// or at which too few bytes are left.
func (s *Set) suspect(text []byte, at int) int {
	follow, class := &s.follow, &s.class
	rest := text[at:]
	for ; len(rest) >= reach; rest = rest[group:] {
		a := binary.LittleEndian.Uint64(rest)
		b := binary.LittleEndian.Uint64(rest[2*stride:])
		c := binary.LittleEndian.Uint64(rest[4*stride:])
		d := binary.LittleEndian.Uint64(rest[6*stride:])
		k, l, m, n := mixed(a), mixed(b), mixed(c), mixed(d)
		if follow[uint16(k)]&class[uint8(a>>24)]|follow[uint16(k>>next)]&class[uint8(a>>48)]|
			follow[uint16(l)]&class[uint8(b>>24)]|follow[uint16(l>>next)]&class[uint8(b>>48)]|
			follow[uint16(m)]&class[uint8(c>>24)]|follow[uint16(m>>next)]&class[uint8(c>>48)]|
			follow[uint16(n)]&class[uint8(d>>24)]|follow[uint16(n>>next)]&class[uint8(d>>48)] != 0 {
			break
		}
	}
	return len(text) - len(rest)
}

// compare returns the index of a word, no earlier than from, that has a triple of the group at an index, or -1.
func (s *Set) compare(text []byte, from, at int, bytes []byte) int {
	for i := 0; i < group; i += stride {
		v := binary.LittleEndian.Uint32(bytes[i:])
		key := uint16(mixed(uint64(v)))
		if s.follow[key]&s.class[byte(v>>24)] == 0 {
			continue
		}
		words := s.lists[s.index[key]]
		for j := range words {
			if first := words[j].around(text, from, at+i); first >= 0 {
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

// Shortest leaves out the words that contain another one: the search finds their lines by that one.
func Shortest(words []string) []string {
	slices.SortStableFunc(words, func(a, b string) int { return len(a) - len(b) })
	var kept []string
	for _, w := range words {
		if !slices.ContainsFunc(kept, func(k string) bool { return Has(w, k) }) {
			kept = append(kept, w)
		}
	}
	return kept
}

// Has reports whether the search finds a word inside a text.
func Has(text, word string) bool {
	_, rest, found := strings.Cut(text, word)
	return found && (len(word) > minWord || rest == "" || mayFollow(word[minWord-1], rest[0]))
}
