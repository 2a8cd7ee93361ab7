// Package story judges what logs of NCCL show: the network that a run used, how it ended, why, and which ranks failed
// first.
package story
