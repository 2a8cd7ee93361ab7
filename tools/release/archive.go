package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"path/filepath"
	"time"
)

// writeArchive writes the archive of one platform and returns its name. Everything in it is in one folder.
func (r release) writeArchive(out string, p platform) (string, error) {
	folder := "railhead_" + r.number() + "_" + p.os + "_" + p.arch
	var files []file
	add := func(below string, some []file) {
		for _, f := range some {
			files = append(files, file{folder + "/" + below + f.name, f.mode, f.data})
		}
	}
	add("", p.programs)
	add("", r.documents)
	add("completions/", r.shell)
	name, packed := folder+".zip", new(bytes.Buffer)
	if p.os == "windows" {
		return name, errors.Join(writeZip(packed, files, r.at), write(filepath.Join(out, name), packed.Bytes()))
	}
	add("man/man1/", r.manual)
	name = folder + ".tar.gz"
	if err := writeGzip(packed, func(w io.Writer) error { return writeTar(w, files, r.at) }); err != nil {
		return "", err
	}
	return name, write(filepath.Join(out, name), packed.Bytes())
}

// writeGzip compresses what content writes. The header has neither a name nor a time.
func writeGzip(w io.Writer, content func(io.Writer) error) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	return errors.Join(content(z), z.Close())
}

// writeTar writes files of root, in the order given.
func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		err := t.WriteHeader(&tar.Header{
			Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
