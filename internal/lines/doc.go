// Package lines decodes logs: compressed, in UTF-16, or with parts that are not text.
package lines
