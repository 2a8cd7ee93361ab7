package kube

import (
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func testClient(t *testing.T) *Client {
	t.Helper()
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host:          "https://api:6443",
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: statusCodec()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Client{rest: client}
}

func TestWithOptions(t *testing.T) {
	c := testClient(t)
	for name, test := range map[string]struct {
		options any
		want    string
	}{
		"command with an empty word": {
			&corev1.PodExecOptions{Container: "train", Command: []string{"echo", "", "a b"}, Stdout: true},
			"command=echo&command=&command=a+b&container=train&stdout=true",
		},
		"whole log":      {&corev1.PodLogOptions{}, ""},
		"end of the log": {&corev1.PodLogOptions{Follow: true, TailLines: new(int64(5))}, "follow=true&tailLines=5"},
		"dry run": {
			&metav1.PatchOptions{FieldManager: "railhead", DryRun: []string{metav1.DryRunAll}},
			"dryRun=All&fieldManager=railhead",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withOptions(c.rest.Get(), test.options).URL().RawQuery; got != test.want {
				t.Errorf("query %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWatchRequest(t *testing.T) {
	for name, test := range map[string]struct {
		cached  bool
		version string
		want    url.Values
	}{
		"list first": {want: url.Values{
			"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"},
		}},
		"list from the cache first": {cached: true, want: url.Values{
			"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "resourceVersion": {"0"},
		}},
		"changes after a version": {cached: true, version: "7", want: url.Values{"resourceVersion": {"7"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := follower{
				client:  testClient(t),
				version: test.version,
				source:  source{path: "/x", labels: "a=b", cached: test.cached},
			}
			for name, value := range map[string]string{
				"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "60", "labelSelector": "a=b",
			} {
				test.want.Set(name, value)
			}
			if got := f.watchRequest(time.Minute).URL().RawQuery; got != test.want.Encode() {
				t.Errorf("query %s\nwant %s", got, test.want.Encode())
			}
		})
	}
}
