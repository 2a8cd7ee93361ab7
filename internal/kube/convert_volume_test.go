package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/railhead/railhead/internal/cluster"
)

func TestConvertVolumeClaim(t *testing.T) {
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: new("cephfs"),
			VolumeMode:       new(corev1.PersistentVolumeBlock),
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	want := cluster.VolumeClaim{
		Namespace: "train", Name: "data", Phase: "Pending", Modes: []string{"ReadWriteOnce"}, Class: "cephfs", Block: true,
	}
	if diff := cmp.Diff(want, convertVolumeClaim(&claim)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}
	want.Phase, want.Modes = "Bound", []string{"ReadWriteOnce", "ReadWriteMany"}
	if diff := cmp.Diff(want, convertVolumeClaim(&claim)); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
}

func TestConvertStorageClass(t *testing.T) {
	class := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}}
	if got := convertStorageClass(&class); got.WaitsForPod {
		t.Errorf("without a mode: %+v", got)
	}
	class.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
	if got := convertStorageClass(&class); !got.WaitsForPod || got.Name != "local" {
		t.Errorf("%+v", got)
	}
}
