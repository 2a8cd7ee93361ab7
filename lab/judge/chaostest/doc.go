// Package chaostest disturbs railhead at each request that it makes to the API server, and compares what is left in the
// cluster with an undisturbed run. Its tests take many minutes, so they are behind the build tag chaos: `make chaos`.
package chaostest
