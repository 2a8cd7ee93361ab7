package volume

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Volume{
		"data=pvc:imagenet:/data":           {Name: "data", Kind: Claim, Source: "imagenet", Path: "/data"},
		"data=pvc:imagenet:/data:ro":        {Name: "data", Kind: Claim, Source: "imagenet", Path: "/data", ReadOnly: true},
		"tmp=emptydir:/tmp":                 {Name: "tmp", Kind: Empty, Path: "/tmp"},
		"tmp=emptydir:1Ti:/tmp":             {Name: "tmp", Kind: Empty, Source: "1Ti", Size: new(resource.MustParse("1Ti")), Path: "/tmp"},
		"n=nfs:10.0.0.1:/export/a:/a":       {Name: "n", Kind: NFS, Server: "10.0.0.1", Source: "/export/a", Path: "/a"},
		"n=nfs:[fd00::1]:/export:/a:ro":     {Name: "n", Kind: NFS, Server: "fd00::1", Source: "/export", Path: "/a", ReadOnly: true},
		"h=hostpath:/srv/models:/models:ro": {Name: "h", Kind: Host, Source: "/srv/models", Path: "/models", ReadOnly: true},
	} {
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, why := range map[string]string{
		"":                           "is not one of NAME=pvc:CLAIM:/PATH[:ro]",
		"pvc:data:/data":             "is not one of",
		"data=imagenet":              "is not one of",
		"data=disk:a:/data":          `must be one of pvc, secret, configmap, emptydir, nfs and hostpath, not "disk"`,
		"Data=pvc:a:/data":           "lower-case letters",
		"railhead-shm=pvc:a:/data":   "not begin with railhead-",
		"data=pvc:a:data":            "must be a folder below /",
		"data=pvc:a:/":               "must be a folder below /",
		"data=pvc:a:/data/../etc":    "must be a folder below /",
		"data=pvc:/data":             `"" is not the name of an object`,
		"data=emptydir:much:/data":   `"much" is not a size such as 100Gi`,
		"data=nfs:server:/data":      `"server" is not SERVER:/EXPORT`,
		"data=hostpath:models:/data": `"models" is not a folder of the node`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}
