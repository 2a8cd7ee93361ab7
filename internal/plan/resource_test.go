package plan

import "testing"

func TestResource(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod":                         "pods",
		"SriovNetworkNodePolicy":      "sriovnetworknodepolicies",
		"DeviceClass":                 "deviceclasses",
		"SecurityContextConstraints":  "securitycontextconstraints",
		"NetworkAttachmentDefinition": "network-attachment-definitions",
	} {
		if got := Resource(kind); got != want {
			t.Errorf("Resource(%s) = %s, want %s", kind, got, want)
		}
	}
}
