// Package job plans training jobs: their pods, the additions to others' manifests, and the removal of both.
package job
