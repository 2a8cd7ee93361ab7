package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestReadResult(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"of today":                  {`{"schemaVersion":2,"minEfficiency":0.9,"pods":[],"later":true}`, nil, ""},
		"no JSON":                   {`PK`, ErrNoResult, ""},
		"another object's":          {`{"problems":[]}`, ErrOtherForm, "unknown schema version 0"},
		"of a later railhead":       {`{"schemaVersion":3}`, ErrOtherForm, "schema version 3: this railhead reads versions up to 2"},
		"culprits without a matrix": {`{"schemaVersion":1,"attribution":{"culprits":[{"kind":"nic","pods":[0]}],"links":1}}`, ErrNotWhole, ""},
		"a rail that no pod has":    {`{"schemaVersion":1,"pods":[{"name":"a"}],"loopbacks":[{"at":{"pod":0,"rail":3}}]}`, ErrNotWhole, ""},
	} {
		_, err := ReadResult(strings.NewReader(c.text))
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
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
