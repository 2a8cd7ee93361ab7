package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestReadResult(t *testing.T) {
	const notWhole = "incomplete result: it refers to pods or rails"
	for name, c := range map[string]struct{ text, want string }{
		"of today":                  {`{"schemaVersion":2,"minEfficiency":0.9,"pods":[],"later":true}`, ""},
		"no JSON":                   {`PK`, "not a result of 'railhead bench'"},
		"another object's":          {`{"problems":[]}`, "unknown schema version 0"},
		"of a later railhead":       {`{"schemaVersion":3}`, "schema version 3: this railhead reads versions up to 2"},
		"culprits without a matrix": {`{"schemaVersion":1,"attribution":{"culprits":[{"kind":"nic","pods":[0]}],"links":1}}`, notWhole},
		"a rail that no pod has":    {`{"schemaVersion":1,"pods":[{"name":"a"}],"loopbacks":[{"at":{"pod":0,"rail":3}}]}`, notWhole},
	} {
		switch _, err := ReadResult(strings.NewReader(c.text)); {
		case err == nil && c.want == "":
		case err == nil || c.want == "" || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzReadResult(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":1,"pods":[{"name":"a","rails":[{"name":"r"}]}],"matrix":{"pods":[{"name":"a"}],"rails":[],"values":[]},"attribution":{"links":0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadResult(bytes.NewReader(text))
		if err != nil {
			return
		}
		if !r.Whole() {
			t.Errorf("%s speaks of what is not in it", text)
		}
		if again, err := json.Marshal(r); err != nil {
			t.Errorf("%s cannot be written again: %v", again, err)
		}
	})
}
