package bundle

import (
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/cluster"
)

// TestUnknownWarning: a warning that no list knows is kept without its words, which may be the user's.
func TestUnknownWarning(t *testing.T) {
	kept := cleanEvents([]cluster.Event{
		{Type: "Warning", Reason: "Surprise", Message: "the moon is full"},
		{Type: "Normal", Reason: "Progress", Message: "epoch 3"},
		{Type: "Warning", Reason: "Pending", Message: "couldn't assign flavors to pod set main"},
	})
	if len(kept) != 2 || kept[0].Reason != "Surprise" || kept[0].Message != "" || kept[1].Message == "" {
		t.Errorf("kept %+v", kept)
	}
}

// TestEventMessages: the words of events about pods that do not start are kept: without them doctor knows no cause.
func TestEventMessages(t *testing.T) {
	for reason, message := range map[string]string{
		"FailedResourceClaimCreation": `PodResourceClaim rails: resource claim template "rails-1": not found`,
		"FailedCreatePodContainer":    "unable to ensure pod container exists: failed to create container for [kubepods]",
		"FailedScheduling":            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
	} {
		kept := cleanEvents([]cluster.Event{{Type: "Warning", Reason: reason, Message: message}})
		if len(kept) != 1 || kept[0].Message != message {
			t.Errorf("kept %+v", kept)
		}
	}
}

// TestOtherProcessor: the words by which a program is known to be for another processor are kept.
func TestOtherProcessor(t *testing.T) {
	for _, line := range []string{
		"exec /usr/bin/sh: exec format error",
		"{\"msg\":\"exec container process `/usr/bin/sh`: Exec format error\",\"level\":\"error\"}",
		"/bin/bash: line 1: /opt/train: cannot execute binary file: Exec format error",
	} {
		if got := cleanMessage(line); got != line {
			t.Errorf("of %q is left %q", line, got)
		}
	}
}

// TestRuntimeMessages: what the container runtime says of a container that it could not start is kept whole; the last
// words of a program are not.
func TestRuntimeMessages(t *testing.T) {
	one := 1
	const cdi = `setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=0`
	for name, c := range map[string]struct {
		waiting, ended string
		exit           *int
		keeps          bool
	}{
		"it could not be created":     {"CreateContainerError", "", nil, true},
		"it could not be started":     {"CrashLoopBackOff", "StartError", &one, true},
		"its program ended":           {"CrashLoopBackOff", "Error", &one, false},
		"its program ended, for good": {"", "Error", &one, false},
	} {
		t.Run(name, func(t *testing.T) {
			container := cluster.Container{Waiting: c.waiting, Ended: c.ended, ExitCode: c.exit, Message: cdi}
			s := cleanState(cluster.State{Pods: []cluster.Pod{{Containers: []cluster.Container{container}}}})
			if got := strings.Contains(s.Pods[0].Containers[0].Message, "unresolvable"); got != c.keeps {
				t.Errorf("kept %q", s.Pods[0].Containers[0].Message)
			}
		})
	}
}
