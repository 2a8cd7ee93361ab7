// Package e2e holds stories: the program railhead, run as its users run it, against a real control plane.
package e2e
