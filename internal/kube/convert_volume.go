package kube

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/railhead/railhead/internal/cluster"
)

func convertVolumeClaim(c *corev1.PersistentVolumeClaim) cluster.VolumeClaim {
	claim := cluster.VolumeClaim{
		Namespace: c.Namespace,
		Name:      c.Name,
		Phase:     string(c.Status.Phase),
		Block:     c.Spec.VolumeMode != nil && *c.Spec.VolumeMode == corev1.PersistentVolumeBlock,
	}
	modes := c.Status.AccessModes // of the volume, which may have more
	if len(modes) == 0 {
		modes = c.Spec.AccessModes
	}
	for _, mode := range modes {
		claim.Modes = append(claim.Modes, string(mode))
	}
	if c.Spec.StorageClassName != nil {
		claim.Class = *c.Spec.StorageClassName
	}
	return claim
}

func convertStorageClass(c *storagev1.StorageClass) cluster.StorageClass {
	mode := c.VolumeBindingMode
	return cluster.StorageClass{
		Name:        c.Name,
		WaitsForPod: mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer,
	}
}
