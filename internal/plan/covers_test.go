package plan

import (
	"encoding/json"
	"testing"
)

func TestCovers(t *testing.T) {
	type m = map[string]any
	tests := map[string]struct {
		live, want m
		covers     bool
	}{
		"equal": {m{"a": "x"}, m{"a": "x"}, true},
		"the server added fields": {
			m{"a": "x", "metadata": m{"uid": "1", "name": "n"}},
			m{"a": "x", "metadata": m{"name": "n"}},
			true,
		},
		"another value":                    {m{"a": "x"}, m{"a": "y"}, false},
		"a field is missing":               {m{}, m{"a": "x"}, false},
		"false is not absent":              {m{}, m{"allowHostNetwork": false}, false},
		"a map where a text is":            {m{"a": "x"}, m{"a": m{"b": "x"}}, false},
		"null wanted, absent":              {m{}, m{"priority": nil}, true},
		"null wanted, a value there":       {m{"priority": 10.0}, m{"priority": nil}, false},
		"priority 0 wanted, null there":    {m{"priority": nil}, m{"priority": int64(0)}, true},
		"priority 0 wanted, 10 there":      {m{"priority": 10.0}, m{"priority": int64(0)}, false},
		"priority 10 wanted, null there":   {m{"priority": nil}, m{"priority": int64(10)}, false},
		"another 0 wanted, null there":     {m{"replicas": nil}, m{"replicas": int64(0)}, false},
		"an empty list wanted, null there": {m{"allowedCapabilities": nil}, m{"allowedCapabilities": []any{}}, true},
		"an empty list wanted, one there": {
			m{"allowedCapabilities": []any{"IPC_LOCK"}},
			m{"allowedCapabilities": []any{}},
			false,
		},
		"number of another decoder":      {m{"mode": 420.0}, m{"mode": int64(420)}, true},
		"number as text":                 {m{"mode": "420"}, m{"mode": int64(420)}, false},
		"number of a decoder with texts": {m{"mode": json.Number("420")}, m{"mode": int32(420)}, true},
		"order of a list": {
			m{"kernelArguments": []any{"b", "a"}},
			m{"kernelArguments": []any{"a", "b"}},
			false,
		},
		"order of a set": {
			m{"volumes": []any{"secret", "csi"}},
			m{"volumes": []any{"csi", "secret"}},
			true,
		},
		"a set has more than is wanted": {
			m{"volumes": []any{"secret", "csi", "hostPath"}},
			m{"volumes": []any{"csi", "secret"}},
			false,
		},
		"defaults in the items of a list": {
			m{"files": []any{m{"path": "/a", "user": m{}}}},
			m{"files": []any{m{"path": "/a"}}},
			true,
		},
		"another item in a list of maps": {
			m{"files": []any{m{"path": "/b"}}},
			m{"files": []any{m{"path": "/a"}}},
			false,
		},
		"a list is longer":              {m{"files": []any{m{}, m{}}}, m{"files": []any{m{}}}, false},
		"a text where a list is wanted": {m{"verbs": "use"}, m{"verbs": []any{"use"}}, false},
	}
	growing := map[string]struct {
		live, want m
		covers     bool
	}{
		"more items, deep": {
			m{"spec": m{"tolerations": []any{m{"key": "flavor"}, m{"key": "gpu"}}}},
			m{"spec": m{"tolerations": []any{m{"key": "gpu"}}}},
			true,
		},
		"another item":    {m{"tolerations": []any{m{"key": "flavor"}}}, m{"tolerations": []any{m{"key": "gpu"}}}, false},
		"no item":         {m{}, m{"tolerations": []any{m{"key": "gpu"}}}, false},
		"of another list": {m{"args": []any{"a", "b"}}, m{"args": []any{"a"}}, false},
	}
	for name, test := range growing {
		t.Run(name, func(t *testing.T) {
			if got := Covers(test.live, test.want, "tolerations"); got != test.covers {
				t.Errorf("Covers = %t, want %t", got, test.covers)
			}
		})
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Covers(test.live, test.want); got != test.covers {
				t.Errorf("Covers = %t, want %t", got, test.covers)
			}
		})
	}
}
