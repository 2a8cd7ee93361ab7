// Package rules is the catalogue of what can be wrong, as pure functions that return lists.
package rules
