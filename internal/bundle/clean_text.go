package bundle

import (
	"regexp"
	"strings"
)

// secretWord matches parts of names that people give to credentials.
const secretWord = `(?:token|secret|passw|passphrase|credential|api[-_]?key|private[-_]?key|access[-_]?key|` +
	`authorization|cookie)`

var (
	secretName = regexp.MustCompile(`(?i)` + secretWord)
	// assigned matches a credential with its name: token=x, "password": "x", --api-key x.
	assigned = regexp.MustCompile(`(?i)([\w.-]*` + secretWord + `[\w.-]*["']?\s*[:=]\s*["']?|` +
		`--[\w-]*` + secretWord + `[\w-]*\s+)[^\s"',;&)]+`)
	// bare matches credentials by their form: bearer tokens, JSON web tokens, tokens of cloud and model services.
	bare = regexp.MustCompile(`(?i:\bbearer\s+)\S+|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|` +
		`\b(?:hf_|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|sk-|xox[abprs]-|nvapi-)[\w-]{8,}|` +
		`\bsha256~[\w-]{8,}`)
	// inURL matches the user and password of an address.
	inURL = regexp.MustCompile(`://[^/\s:@"']+:[^/\s@"']+@`)
	// key matches a private key in PEM form, also a truncated one.
	key = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

const redacted = "REDACTED"

// cleanText removes credentials from free text.
func cleanText(text string) string {
	text = key.ReplaceAllString(text, redacted)
	text = inURL.ReplaceAllString(text, "://"+redacted+"@")
	text = bare.ReplaceAllString(text, redacted)
	return assigned.ReplaceAllString(text, "${1}"+redacted)
}

// networkLine matches the lines of NCCL and RCCL, libibverbs, network plugins, torch about the network, and
// railhead-pod.
var networkLine = regexp.MustCompile(`\b(?:NCCL|RCCL) (?:INFO|WARN|TRACE|ERROR|VERSION)\b|\b(?:NCCL|RCCL) version\b|` +
	`^railhead(?:-pod)?: |\blibibverbs: |\bIBV_WC_|\bibv_|ProcessGroupNCCL|DistBackendError|` +
	`ncclUnhandled|ncclSystemError|ncclInternalError|ncclRemoteError|\bUCX  ?(?:ERROR|WARN)|` +
	`\bNET/(?:IB|OFI|Socket)\b`)

// mostOfALog bounds the text of one container.
const mostOfALog = 4 << 20

// cleanLog keeps the lines of a log that libraries and Railhead wrote, and drops the lines of the user's program.
func cleanLog(text string) string { return keepLines(text, mostOfALog, networkLine.MatchString) }

// runtimeLine matches messages of container runtimes and the kubelet about a container, which no program of a user
// writes.
var runtimeLine = regexp.MustCompile(`^(?:Back-off |[Ff]ailed to |[Ee]rror: |Error response from |` +
	`rpc error: |OCI runtime |container create failed: |exec |.*executable file not found|` +
	`.*no such file or directory|.*exec format error|.*exec container process |.*cannot execute binary file: |` +
	`.*permission denied|.*context deadline exceeded|container has runAsNonRoot|secret "|configmap "|` +
	`couldn't find key |.*ImagePull|.*manifest |.*pull access denied|.*unauthorized|.*x509:)`)

// cleanMessage keeps the lines of the runtime, the kubelet and Railhead about the end of a container or why it waits.
func cleanMessage(message string) string {
	const most = 8 << 10
	return keepLines(message, most, func(line string) bool {
		return strings.HasPrefix(line, "    fix (") || strings.HasPrefix(line, "fail: ") ||
			runtimeLine.MatchString(line) || networkLine.MatchString(line)
	})
}

// keepLines keeps the first chosen lines, without credentials, up to a number of bytes.
func keepLines(text string, most int, keep func(line string) bool) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !keep(line) {
			continue
		}
		if kept.Len()+len(line) > most {
			break
		}
		kept.WriteString(cleanText(line))
	}
	return kept.String()
}
