// Package arch is the architecture law of docs/architecture.md as tests, each failure with the reason for the ban.
package arch
