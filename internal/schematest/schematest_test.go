package schematest

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/host"
)

// shape has every form that outputs have.
type shape struct {
	SchemaVersion int `json:"schemaVersion"`
	embedded
	Word    word                 `json:"word"` // of three letters
	Status  check.Status         `json:"status"`
	Fact    host.Fact[int]       `json:"fact"`
	Found   host.Fact[inner]     `json:"found,omitzero"`
	Limit   host.Limit           `json:"limit"`
	Address netip.Addr           `json:"address"`
	At      time.Time            `json:"at,omitzero"`
	Own     *shape               `json:"own,omitempty"`
	Maybe   *inner               `json:"maybe"`
	List    []inner              `json:"list"`
	Few     []inner              `json:"few,omitempty"`
	Numbers []*float64           `json:"numbers,omitempty"`
	Ranks   map[int]string       `json:"ranks,omitempty"`
	Words   map[word]inner       `json:"words,omitempty"`
	PCI     []host.PCIAddress    `json:"pci,omitempty"`
	Hidden  map[chan int]float64 `json:"-"`
}

type embedded struct {
	Promoted int `json:"promoted,omitempty"` // in the object itself
}

type inner struct {
	Name string `json:"name"`
}

// word is a set.
type word string

const (
	yes word = "yes"
	no  word = "no"
)

// TestSchema: the schema takes what encoding/json writes, and nothing else.
func TestSchema(t *testing.T) {
	o := Output{Command: "railhead-pod shape --all -o json", Type: reflect.TypeFor[shape](), Version: 2}
	s := o.Generate(t)
	if o.Name() != "railhead-pod-shape-all" || s.ID != published+"railhead-pod-shape-all.json" || s.Title != o.Command {
		t.Errorf("%s: %s, %s", o.Name(), s.ID, s.Title)
	}
	if got := s.Properties["word"].Description + "; " + s.Properties["promoted"].Description + "; " +
		s.Defs["schematest.word"].Description; got != "of three letters; in the object itself; word is a set." {
		t.Errorf("descriptions: %s", got)
	}
	p, err := newPublished(o.Name(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range append(o.Samples(t), shape{SchemaVersion: 2, Word: yes}, shape{SchemaVersion: 2, Word: no}) {
		p.HoldsValue(t, "a value", sample)
	}
	const least = `{"schemaVersion": 2, "word": "no", "status": "warn", "fact": null, "limit": "unlimited", "address": "",
		"maybe": null, "list": null`
	for rest, fits := range map[string]bool{
		``:                                      true,
		`, "promoted": 1`:                       true,
		`, "few": [{"name": "a"}]`:              true,
		`, "few": null`:                         false, // it is left out instead
		`, "few": [{}]`:                         false,
		`, "few": [{"name": "a", "more": 1}]`:   false,
		`, "more": 1`:                           false,
		`, "word": "maybe"`:                     false,
		`, "status": "worse"`:                   false,
		`, "status": 3`:                         false,
		`, "schemaVersion": 1`:                  false,
		`, "limit": -1`:                         false,
		`, "limit": "none"`:                     false,
		`, "limit": 65536`:                      true,
		`, "fact": {"unreadable": "forbidden"}`: true,
		`, "fact": {"because": "forbidden"}`:    false,
		`, "fact": "1"`:                         false,
		`, "found": null`:                       false,
		`, "found": {"name": "a"}`:              true,
		`, "numbers": [1.5, null]`:              true,
		`, "numbers": ["1"]`:                    false,
		`, "ranks": {"0": "a"}`:                 true,
		`, "ranks": {"a": "0"}`:                 false,
		`, "words": {"yes": {"name": "a"}}`:     true,
		`, "words": {"a": {"name": "a"}}`:       false,
		`, "pci": ["0000:18:00.5"]`:             true,
		`, "pci": ["18:00.5"]`:                  false,
		`, "own": {"schemaVersion": 2}`:         false,
	} {
		var v any
		if err := json.Unmarshal([]byte(least+rest+"}"), &v); err != nil {
			t.Fatal(err)
		}
		if err := p.strict.Validate(v); (err == nil) != fits {
			t.Errorf("%s: %v", rest, err)
		}
		if err := p.open.Validate(v); (err == nil) != (fits || strings.Contains(rest, "more")) {
			t.Errorf("%s, for readers: %v", rest, err)
		}
	}
}

type encodesItself struct{}

func (encodesItself) MarshalText() ([]byte, error) { return nil, nil }

// TestRefused: a type whose JSON form does not follow from its fields is refused.
func TestRefused(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"encodes itself": reflect.TypeFor[[]encodesItself](),
		"base64":         reflect.TypeFor[[][]byte](),
		"its keys":       reflect.TypeFor[map[bool]int](),
		"no name":        reflect.TypeFor[struct{ F int }](),
		"of no package":  reflect.TypeFor[[]struct{}](),
	} {
		if _, err := newGenerator(newSource(root(t)), typ).root(); !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
