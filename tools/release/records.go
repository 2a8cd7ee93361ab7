package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const checksums = "SHA256SUMS"

// digests returns the SHA-256 of every file in folder, by name, but not of the checksums themselves.
func digests(folder string) (map[string]string, error) {
	files, err := readFilesIn(folder)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
	}
	return sums, nil
}

func readFilesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	var names []string
	for _, e := range entries {
		if !e.IsDir() && e.Name() != checksums {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// statement is an in-toto statement with the provenance of SLSA 1. It is not signed: it says what the maker claims.
// https://slsa.dev/spec/v1.0/provenance
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

func (r release) provenanceName() string { return "railhead_" + r.number() + "_provenance.json" }

// provenance says from which commit, and how, the files were made.
func (r release) provenance(sums map[string]string) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if name == r.provenanceName() { // of an earlier run
			continue
		}
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": sums[name]}})
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = r.home + "/blob/" + r.version + "/docs/install.md#make-a-release"
	d.ExternalParameters = map[string]string{"command": "make release VERSION=" + r.version}
	d.ResolvedDependencies = []subject{{
		URI: "git+" + r.home + "@refs/tags/" + r.version, Digest: map[string]string{"gitCommit": r.commit},
	}}
	s.Predicate.RunDetails.Builder.ID = r.home + "/blob/" + r.version + "/Makefile"
	return json.MarshalIndent(s, "", "  ")
}

// writeRecords writes the provenance and, last, the checksums of all files.
func (r release) writeRecords(out string, sums map[string]string) error {
	provenance, err := r.provenance(sums)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(out, r.provenanceName()), append(provenance, '\n')); err != nil {
		return err
	}
	if sums, err = digests(out); err != nil {
		return err
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	return write(filepath.Join(out, checksums), b.Bytes())
}

// sumOf returns the digest of a published file: a manifest never names a file that is not there.
func sumOf(sums map[string]string, name string) (string, error) {
	if sums[name] == "" {
		packed := strings.Join(slices.Sorted(maps.Keys(sums)), ", ")
		return "", fmt.Errorf("%q was not packed: there are %s", name, packed)
	}
	return sums[name], nil
}
