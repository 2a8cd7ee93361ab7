package assets

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersions wants railhead, the lab and the programs of the control plane to be built from the same client-go and
// the modules below it. Each set of versions costs a first make demo another two minutes of compiling.
func TestVersions(t *testing.T) {
	shared := []string{
		"github.com/spf13/pflag",
		"golang.org/x/net",
		"golang.org/x/oauth2",
		"golang.org/x/sync",
		"golang.org/x/sys",
		"golang.org/x/term",
		"golang.org/x/text",
		"golang.org/x/time",
		"k8s.io/api",
		"k8s.io/apimachinery",
		"k8s.io/client-go",
		"k8s.io/klog/v2",
		"k8s.io/kube-openapi",
		"k8s.io/utils",
		"sigs.k8s.io/structured-merge-diff/v6",
	}
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	versions := func(folder string) string {
		args := append([]string{"list", "-m"}, shared...)
		out, err := runGo(t.Context(), folder, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	want := versions(root)
	folders := []string{filepath.Dir(root)}
	for _, name := range []string{"controlplane", "kubectl", "kubelet"} {
		folders = append(folders, filepath.Join(root, "modules", name))
	}
	for _, folder := range folders {
		if diff := cmp.Diff(want, versions(folder)); diff != "" {
			t.Errorf("%s is built from other versions than the lab (-lab +here):\n%s", folder, diff)
		}
	}
}
