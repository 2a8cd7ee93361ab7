// Package codes has the names and numbers of the errors of verbs, mlx5 and Linux, as NCCL prints them.
package codes

import (
	"slices"
	"strconv"
	"strings"
)

// completions has the names of ibv_wc_status (rdma-core v64 libibverbs/verbs.h), without IBV_WC_.
var completions = strings.Fields(`
	SUCCESS LOC_LEN_ERR LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR BAD_RESP_ERR
	LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR RNR_RETRY_EXC_ERR LOC_RDD_VIOL_ERR
	REM_INV_RD_REQ_ERR REM_ABORT_ERR INV_EECN_ERR INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR GENERAL_ERR
	TM_ERR TM_RNDV_INCOMPLETE`)

// Statuses of completions (enum ibv_wc_status) that tell causes apart.
const (
	StatusLength   = 1
	StatusQPOp     = 2
	StatusProt     = 4
	StatusFlushed  = 5
	StatusLocalAcc = 8
	StatusRemInv   = 9
	StatusRemAcc   = 10
	StatusRemOp    = 11
	StatusRetry    = 12
	StatusRNR      = 13
	StatusTimeout  = 20
)

// CompletionName returns the name of a status of a completion, its number if it has none, or "" if it is negative.
func CompletionName(status int) string {
	switch {
	case status < 0:
		return ""
	case status >= len(completions):
		return strconv.Itoa(status)
	}
	return completions[status]
}

// CompletionStatus returns the status with a name, with or without IBV_WC_, or -1.
func CompletionStatus(name string) int {
	return slices.Index(completions, strings.TrimPrefix(name, "IBV_WC_"))
}

// Syndrome returns the name of the syndrome in a completion of mlx5 (rdma-core v64 providers/mlx5/mlx5dv.h), which
// NCCL prints in decimal as vendor error, or "". What the high bits mean is not published: 129 (0x81) was seen with
// RETRY_EXC_ERR, 81 (0x51) with LOC_PROT_ERR, 136 (0x88) with REM_ACCESS_ERR, and 249 (0xf9) with WR_FLUSH_ERR.
func Syndrome(vendor int) string {
	return map[int]string{
		0x01: "local length",
		0x02: "local QP operation",
		0x04: "local protection",
		0x05: "flushed",
		0x06: "memory window bind",
		0x10: "bad response",
		0x11: "local access",
		0x12: "remote invalid request",
		0x13: "remote access",
		0x14: "remote operation",
		0x15: "transport retry exceeded",
		0x16: "RNR retry exceeded",
		0x22: "remote aborted",
		0x51: "local protection",
		0x81: "transport retry exceeded",
		0x88: "remote access",
		0xf9: "flushed",
	}[vendor]
}

// errnos has errors of Linux by the text that strerror prints for them, which is all that NCCL up to 2.19 logs.
var errnos = map[string]int{
	"Operation not permitted":          1,
	"No such file or directory":        2,
	"Input/output error":               5,
	"Resource temporarily unavailable": 11,
	"Cannot allocate memory":           12,
	"Permission denied":                13,
	"Bad address":                      14,
	"Device or resource busy":          16,
	"No such device":                   19,
	"Invalid argument":                 22,
	"Too many open files":              24,
	"Inappropriate ioctl for device":   25,
	"No space left on device":          28,
	"Broken pipe":                      32,
	"Function not implemented":         38,
	"No data available":                61,
	"Protocol not supported":           93,
	"Operation not supported":          95,
	"Address already in use":           98,
	"Cannot assign requested address":  99,
	"Network is down":                  100,
	"Network is unreachable":           101,
	"Software caused connection abort": 103,
	"Connection reset by peer":         104,
	"No buffer space available":        105,
	"Connection timed out":             110,
	"Connection refused":               111,
	"Host is down":                     112,
	"No route to host":                 113,
	"Remote I/O error":                 121,
}

// Errno returns the number of an error by the text of strerror, or 0.
func Errno(text string) int { return errnos[text] }

// FirstError returns the first text of strerror in a line, or "".
func FirstError(line string) string {
	first, at := "", len(line)
	for text := range errnos {
		if i := strings.Index(line, text); i >= 0 && i < at {
			first, at = text, i
		}
	}
	return first
}
