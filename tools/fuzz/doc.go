// Package fuzz has a script that fuzzes every target, and its test.
package fuzz
