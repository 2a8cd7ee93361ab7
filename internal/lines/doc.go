// Package lines decodes logs: compressed, in UTF-16, written by a container runtime, or with parts that are not text.
package lines
