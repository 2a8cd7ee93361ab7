package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user runs the programs where the pod names no other: it has no name and owns nothing.
const user = "65532:65532"

// writeImage writes the image for all architectures as an OCI layout in one tar file, for skopeo, podman and ctr.
func (r release) writeImage(out string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.linux() {
		image, err := r.platformImage(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.os, Architecture: p.arch},
		}})
	}
	index, ok := mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	if !ok {
		return errors.New("the annotated index is no index")
	}
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	err = at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          r.image + ":" + r.version,
	}))
	if err != nil {
		return err
	}
	return writeLayout(folder, filepath.Join(out, "railhead_"+r.number()+"_image.tar"), r.at)
}

// labels describe the image; https://github.com/opencontainers/image-spec/blob/main/annotations.md explains them.
func (r release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "railhead",
		"org.opencontainers.image.description":   summary,
		"org.opencontainers.image.version":       r.version,
		"org.opencontainers.image.revision":      r.commit,
		"org.opencontainers.image.created":       r.at.Format(time.RFC3339),
		"org.opencontainers.image.source":        r.home,
		"org.opencontainers.image.url":           r.home,
		"org.opencontainers.image.documentation": r.home + "/blob/" + r.version + "/docs/install.md",
		"org.opencontainers.image.licenses":      licence,
	}
}

// platformImage has both programs at its root, where init containers, image volumes and the webhook look for them.
func (r release) platformImage(p platform) (v1.Image, error) {
	files := append([]file{}, p.programs...)
	for _, f := range r.imageDocuments {
		if f.name != "README.md" {
			files = append(files, file{"licenses/" + f.name, f.mode, f.data})
		}
	}
	var content bytes.Buffer
	if err := writeTar(&content, files, r.at); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.at}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: created,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: user, Entrypoint: []string{"/railhead"}, WorkingDir: "/", Labels: r.labels()},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
		Created: created, CreatedBy: "make release VERSION=" + r.version,
	}})
}

// writeLayout packs a layout into one tar file; WalkDir gives the names in order.
func writeLayout(folder, archive string, at time.Time) error {
	var files []file
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, file{filepath.ToSlash(rel), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := writeTar(&packed, files, at); err != nil {
		return err
	}
	return write(archive, packed.Bytes())
}

// readIndex unpacks the archive of an image into folder and returns its index.
func readIndex(archive, folder string) (v1.ImageIndex, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := tar.NewReader(f)
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		if !filepath.IsLocal(header.Name) {
			return nil, fmt.Errorf("%s: %q leads out of the archive", archive, header.Name)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		if err := write(filepath.Join(folder, header.Name), data); err != nil {
			return nil, err
		}
	}
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d images: want one", archive, len(manifest.Manifests))
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}

// push uploads the image to a registry, with the credentials of the docker or podman login.
func push(archive, to string) error {
	reference, err := name.NewTag(to, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("push to %q: want REGISTRY/NAME:TAG: %w", to, err)
	}
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	index, err := readIndex(archive, folder)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(reference, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s@%s\n", reference, digest)
	return nil
}
