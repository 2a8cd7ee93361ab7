// Package prefix reads what stands before the text of a log line: the process that wrote it, the label of a launcher,
// the time, and NCCL's name and level. It knows which bytes the names in a line may have.
package prefix
