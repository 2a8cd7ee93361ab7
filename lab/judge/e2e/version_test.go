package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestServerVersion: deploy knows what the server can do.
func TestServerVersion(t *testing.T) {
	const ns = "versioned"
	setUp(t)
	u := engineer(t, "v-lind", ns)
	t.Run("a server that gives pods no rank", func(t *testing.T) {
		old, calls := counted(t, "v-lind")
		calls.answer = func(path string) http.HandlerFunc {
			if path != "/version" {
				return nil
			}
			return func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"major": "1", "minor": "27", "gitVersion": "v1.27.16"}`)
			}
		}
		before := objectsOf(t, openShift, ns)
		old.ends(t, 1, deploy("h-kim", ns)...).silent(t).says(t, "[server-support]", "v1.27.16", "nothing was written")
		if after := objectsOf(t, openShift, ns); len(after) != len(before) {
			t.Errorf("objects %v, before %v", after, before)
		}
	})
	t.Run("railhead-pod in an image volume", func(t *testing.T) {
		eventually(t, "the pods of earlier tests are gone", func() error {
			r := u.railhead(t, "deploy", "h-kim", "-n", ns, "--image=example.invalid/pytorch:2.9", "--yes",
				"--pod-image=example.invalid/railhead:1", "--image-volume")
			return unless(r.code == 0 && strings.Contains(r.err, "h-kim: 2 of 2 pods ready"), r.err)
		})
		for _, p := range podsOf(t, openShift, ns, "h-kim") {
			leastPrivilege(t, p)
			var image *corev1.ImageVolumeSource
			for _, v := range p.Spec.Volumes {
				if v.Image != nil {
					image = v.Image
				}
			}
			if image == nil || image.Reference != "example.invalid/railhead:1" ||
				p.Annotations["openshift.io/scc"] != railheadSCC {
				t.Errorf("%s: volumes %v, annotations %v", p.Name, p.Spec.Volumes, p.Annotations)
			}
		}
		u.does(t, "delete", "h-kim", "-n", ns, "--yes").silent(t)
	})
}
