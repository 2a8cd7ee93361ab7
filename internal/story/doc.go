// Package story has what a log tells of its runs, as `railhead explain` prints it.
package story
