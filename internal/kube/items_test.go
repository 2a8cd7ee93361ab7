package kube

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufList is a list of nodes as an API server sends it.
func protobufList(t testing.TB, names ...string) []byte {
	t.Helper()
	list := corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "42"}}
	for _, name := range names {
		list.Items = append(list.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	raw, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Raw: raw}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(protobufMagic), body...)
}

func TestEachItem(t *testing.T) {
	whole := protobufList(t, "a", "b")
	for name, test := range map[string]struct {
		body    string
		names   []string
		version string
		broken  bool
	}{
		"protobuf":             {string(whole), []string{"a", "b"}, "42", false},
		"protobuf, no objects": {string(protobufList(t)), nil, "42", false},
		"protobuf, cut off":    {string(whole[:len(whole)-20]), []string{"a"}, "", true},
		"protobuf, no list":    {"k8s\x00", nil, "", true},
		"JSON": {
			`{"kind":"List","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},` +
				`{"metadata":{"name":"b"}}],"extra":{"x":[1]}}`,
			[]string{"a", "b"},
			"7",
			false,
		},
		"JSON, items before meta": {
			`{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"7"}}`,
			[]string{"a"},
			"7",
			false,
		},
		"JSON, items null": {`{"items":null,"metadata":{"resourceVersion":"7"}}`, nil, "7", false},
		"JSON, cut off": {
			`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"meta`,
			[]string{"a"},
			"",
			true,
		},
		"JSON, cut off at the end": {
			`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]`,
			[]string{"a"},
			"",
			true,
		},
		"empty": {"", nil, "", true},
		"text":  {"upstream connect error", nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			version, err := eachItem(strings.NewReader(test.body), func(raw []byte, form encoding) {
				var node corev1.Node
				if err := unmarshal(raw, form, &node); err != nil {
					t.Error(err)
				}
				names = append(names, node.Name)
			})
			if diff := cmp.Diff(test.names, names); diff != "" {
				t.Error(diff)
			}
			if version != test.version || errors.Is(err, errBroken) != test.broken {
				t.Errorf("version %q, error %v; want %q, broken %v", version, err, test.version, test.broken)
			}
		})
	}
}

// A list that is cut off is never taken for a whole one, wherever it is cut.
func TestEachItemCutOff(t *testing.T) {
	for _, body := range [][]byte{
		protobufList(t, "a", "b"),
		[]byte(`{"metadata":{"resourceVersion":"7"},"items":[{},{}]}`),
	} {
		list := len(body)
		if bytes.HasPrefix(body, []byte(protobufMagic)) {
			list -= 4 // two empty fields end the envelope, behind the list
		}
		for n := range list {
			if _, err := eachItem(bytes.NewReader(body[:n]), func([]byte, encoding) {}); !errors.Is(err, errBroken) {
				t.Errorf("%q: %v, want that the connection broke", body[:n], err)
			}
		}
	}
}

func FuzzEachItem(f *testing.F) {
	f.Add(protobufList(f, "a", "b"))
	f.Add([]byte(`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}]}`))
	f.Add([]byte("k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := eachItem(bytes.NewReader(body), func(raw []byte, _ encoding) {
			if len(raw) > len(body) {
				t.Errorf("an object of %d bytes in a body of %d", len(raw), len(body))
			}
		})
		if err != nil && !errors.Is(err, errBroken) {
			t.Error(err)
		}
	})
}
