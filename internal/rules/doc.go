// Package rules judges fleets of machines and benches, and joins all judges into one diagnosis.
package rules
