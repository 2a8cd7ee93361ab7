// Package launch runs one command in all pods of a job and shows the pods' logs, each line with its rank.
package launch
