// Package event recognizes the lines of a log that show how a run went: the table of their signatures, and the fields
// of each.
package event
