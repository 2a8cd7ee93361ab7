// Package nccllog reads the logs of NCCL and of RCCL, line by line and in bounded memory.
package nccllog
