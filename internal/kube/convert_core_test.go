package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertQuota(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want cluster.Quota
	}{
		"reckoned": {`
metadata: {namespace: train, name: gpus}
spec: {hard: {requests.nvidia.com/gpu: "32"}}
status:
  hard: {requests.nvidia.com/gpu: "16", requests.cpu: "100", limits.memory: 1Ti, pods: "20"}
  used: {requests.nvidia.com/gpu: "8", requests.cpu: 1500m}
`, cluster.Quota{Namespace: "train", Name: "gpus",
			Hard: cluster.Resources{
				"requests.nvidia.com/gpu": 16,
				"requests.cpu":            100000,
				"limits.memory":           1 << 40,
				"pods":                    20,
			},
			Used: cluster.Resources{"requests.nvidia.com/gpu": 8, "requests.cpu": 1500}}},
		"not reckoned yet, for some pods only": {`
metadata: {namespace: train, name: best}
spec: {hard: {pods: "4"}, scopes: [BestEffort]}
`, cluster.Quota{Namespace: "train", Name: "best", Hard: cluster.Resources{"pods": 4}, Scoped: true}},
		"scope selector": {`
metadata: {namespace: train, name: high}
spec: {hard: {pods: "4"}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}
`, cluster.Quota{Namespace: "train", Name: "high", Hard: cluster.Resources{"pods": 4}, Scoped: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertQuota(from[corev1.ResourceQuota](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConvertEvent(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 5, 10, minute, 0, 0, time.UTC) }
	for name, test := range map[string]struct {
		yaml string
		want cluster.Event
	}{
		"old sender": {`
metadata: {namespace: train, name: h-kim-0.1, creationTimestamp: "2026-01-05T10:00:00Z"}
involvedObject: {kind: Pod, name: h-kim-0}
type: Warning
reason: FailedMount
message: MountVolume.SetUp failed
count: 7
firstTimestamp: "2026-01-05T10:00:00Z"
lastTimestamp: "2026-01-05T10:05:00Z"
`, cluster.Event{
			Namespace: "train",
			Object:    "Pod/h-kim-0",
			Type:      "Warning",
			Reason:    "FailedMount",
			Message:   "MountVolume.SetUp failed",
			Count:     7,
			Last:      at(5),
		}},
		"new sender with a series": {`
metadata: {namespace: train, name: h-kim.2, creationTimestamp: "2026-01-05T10:00:00Z"}
involvedObject: {kind: StatefulSet, name: h-kim}
type: Warning
reason: FailedCreate
eventTime: "2026-01-05T10:00:00.000000Z"
series: {count: 4, lastObservedTime: "2026-01-05T10:09:00.000000Z"}
`, cluster.Event{
			Namespace: "train",
			Object:    "StatefulSet/h-kim",
			Type:      "Warning",
			Reason:    "FailedCreate",
			Count:     4,
			Last:      at(9),
		}},
		"said once": {`
metadata: {namespace: train, name: h-kim-0.3, creationTimestamp: "2026-01-05T10:02:00Z"}
involvedObject: {kind: Pod, name: h-kim-0}
type: Normal
reason: Scheduled
`, cluster.Event{Namespace: "train", Object: "Pod/h-kim-0", Type: "Normal", Reason: "Scheduled", Last: at(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := convertEvent(from[corev1.Event](t, test.yaml))
			got.Last = got.Last.UTC()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConvertNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want cluster.Namespace
	}{
		"of OpenShift": {`
metadata:
  name: train
  labels: {pod-security.kubernetes.io/enforce: restricted}
  annotations: {openshift.io/sa.scc.uid-range: 1000650000/10000}
status: {phase: Active}
`, cluster.Namespace{Name: "train", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
			Annotations: map[string]string{"openshift.io/sa.scc.uid-range": "1000650000/10000"}}},
		"being deleted": {`{metadata: {name: train, deletionTimestamp: "2026-01-05T10:00:00Z"}, status: {phase: ` +
			`Terminating}}`,
			cluster.Namespace{Name: "train", Terminating: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, convertNamespace(from[corev1.Namespace](t, test.yaml))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
