// Package prefix reads what stands before the text of a log line: the process that wrote it, the label of a launcher
// and the time.
package prefix
