// Package scan reads a log in blocks, nearly as fast as memory delivers it, and passes on the lines that may hold a
// fact.
package scan
