package controlplane

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/railhead/railhead/lab/controlplane/assets"
	"github.com/railhead/railhead/lab/controlplane/process"
)

// installCRDs installs the CRDs of the options and waits until all are served.
func (p *ControlPlane) installCRDs(ctx context.Context) error {
	files, err := assets.CRDFiles(ctx, p.options.sets()...)
	if err != nil {
		return err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		crds, err := readCRDs(file)
		if err != nil {
			return fmt.Errorf("read CRDs: %w", err)
		}
		all = append(all, crds...)
	}
	for _, crd := range all {
		if err := p.client.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("install CRD %s: %w", crd.Name, err)
		}
	}
	for _, crd := range all {
		err := process.Until(ctx, "CRD "+crd.Name+" is established", p.api.process, func(ctx context.Context) error {
			return p.established(ctx, crd)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *ControlPlane) established(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
		return err
	}
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("conditions %v", crd.Status.Conditions)
}

// readCRDs reads the CRDs of a file and passes over whatever else is in it.
func readCRDs(file string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	objects, err := assets.ReadObjects(file)
	if err != nil {
		return nil, err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, u := range objects {
		if u.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, crd)
	}
	return all, nil
}
