package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestShellImage(t *testing.T) {
	const (
		withImages = `{"kind":"APIGroupList","groups":[{"name":"image.openshift.io","versions":[{"version":"v1"}]}]}`
		without    = `{"kind":"APIGroupList","groups":[]}`
		daemon     = `{"items":[{"spec":{"containers":[{"name":"kube-rbac-proxy","image":"proxy"},` +
			`{"name":"machine-config-daemon","image":"quay.example.com/release@sha256:1"}]}}]}`
		tag       = `{"kind":"ImageStreamTag","image":{"dockerImageReference":"quay.example.com/release@sha256:2"}}`
		forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,` +
			`"message":"pods is forbidden"}`
		missing = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,` +
			`"message":"imagestreamtags \"cli:latest\" not found"}`
	)
	for name, test := range map[string]struct {
		groups, pods, tag string
		want              string
		calls             int
		says              []string
	}{
		"the daemon of the node": {
			groups: withImages,
			pods:   daemon,
			want:   "quay.example.com/release@sha256:1",
			calls:  1,
		},
		"no daemon on the node": {
			groups: withImages,
			pods:   `{"items":[]}`,
			tag:    tag,
			want:   "quay.example.com/release@sha256:2",
			calls:  2,
		},
		"daemons may not be read": {
			groups: withImages,
			pods:   forbidden,
			tag:    tag,
			want:   "quay.example.com/release@sha256:2",
			calls:  2,
		},
		"the daemon has no image": {
			groups: withImages,
			pods:   `{"items":[{"spec":{"containers":[{"name":"machine-config-daemon"}]}}]}`,
			tag:    tag,
			want:   "quay.example.com/release@sha256:2",
			calls:  2,
		},
		"neither": {
			groups: withImages,
			pods:   `{"items":[]}`,
			tag:    missing,
			calls:  2,
			says:   []string{"node w12 has no pod of the machine-config-daemon", `"cli:latest" not found`},
		},
		"a tag that was never imported": {
			groups: withImages,
			pods:   `{"items":[]}`,
			tag:    `{"image":{}}`,
			calls:  2,
			says:   []string{"openshift/cli:latest names no image"},
		},
		"no image streams": {
			groups: without,
			pods:   forbidden,
			calls:  1,
			says:   []string{"pods is forbidden", "the server has no image streams"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := map[string]string{
					"/apis":        test.groups,
					daemonPods:     test.pods,
					imageStreamTag: test.tag,
				}[r.URL.Path]
				if r.URL.Path != "/apis" && r.URL.Path != "/version" { // of connect
					asked = append(asked, r.URL.String())
				}
				w.Header().Set("Content-Type", "application/json")
				switch {
				case strings.Contains(answer, `"code":403`):
					w.WriteHeader(http.StatusForbidden)
				case strings.Contains(answer, `"code":404`):
					w.WriteHeader(http.StatusNotFound)
				}
				fmt.Fprint(w, answer)
			}))
			defer server.Close()
			c, err := connect(t.Context(), &rest.Config{Host: server.URL}, "lab")
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.ShellImage(t.Context(), "w12")
			if got != test.want || (err == nil) != (test.want != "") || len(asked) != test.calls {
				t.Errorf("%q, %v, after %q", got, err, asked)
			}
			if err != nil && !errors.Is(err, ErrNoShellImage) {
				t.Errorf("%v is no ErrNoShellImage", err)
			}
			for _, text := range test.says {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v does not say %q", err, text)
				}
			}
			const query = "?fieldSelector=spec.nodeName%3Dw12&labelSelector=k8s-app%3Dmachine-config-daemon"
			if asked[0] != daemonPods+query {
				t.Errorf("asked for %s", asked[0])
			}
		})
	}
}
