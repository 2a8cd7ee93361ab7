package cluster

// VolumeClaim is one PersistentVolumeClaim.
type VolumeClaim struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Phase     string   `json:"phase"`           // Pending, Bound, Lost
	Modes     []string `json:"modes,omitempty"` // of the volume, or until it is bound, of the claim: ReadWriteMany
	Class     string   `json:"class,omitempty"`
	Block     bool     `json:"block,omitempty"` // a device, not a file system
}

// StorageClass is one class of volumes.
type StorageClass struct {
	Name        string `json:"name"`
	WaitsForPod bool   `json:"waitsForPod,omitempty"` // volumeBindingMode WaitForFirstConsumer
}

// VolumeClaim returns a claim by its place.
func (s State) VolumeClaim(namespace, name string) (VolumeClaim, bool) {
	return find(s.VolumeClaims, func(c VolumeClaim) bool { return c.Namespace == namespace && c.Name == name })
}

// StorageClass returns a class by its name.
func (s State) StorageClass(name string) (StorageClass, bool) {
	return find(s.StorageClasses, func(c StorageClass) bool { return c.Name == name })
}
