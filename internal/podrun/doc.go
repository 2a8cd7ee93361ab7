// Package podrun starts the training command: it lifts the locked-memory limit, builds the environment and execs.
package podrun
