package bundle

import (
	"regexp"
	"strings"
)

// secretWord is a part of the names that people give to credentials.
const secretWord = `(?:token|secret|passw|passphrase|credential|api[-_]?key|private[-_]?key|access[-_]?key|authorization|cookie)`

var (
	secretName = regexp.MustCompile(`(?i)` + secretWord)
	// assigned is a credential with its name: token=x, "password": "x", --api-key x.
	assigned = regexp.MustCompile(`(?i)([\w.-]*` + secretWord + `[\w.-]*["']?\s*[:=]\s*["']?|--[\w-]*` + secretWord + `[\w-]*\s+)[^\s"',;&)]+`)
	// bare are credentials that are known by their form: bearer tokens, JSON web tokens, and those of cloud and model services.
	bare = regexp.MustCompile(`(?i:\bbearer\s+)\S+|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|\b(?:hf_|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|sk-|xox[abprs]-|nvapi-)[\w-]{8,}|\bsha256~[\w-]{8,}`)
	// inURL is the user's part of an address.
	inURL = regexp.MustCompile(`://[^/\s:@"']+:[^/\s@"']+@`)
	// key is a private key in PEM form, also one that is cut off.
	key = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

const redacted = "REDACTED"

// cleanText takes credentials out of free text.
func cleanText(text string) string {
	if text == "" {
		return ""
	}
	text = key.ReplaceAllString(text, redacted)
	text = inURL.ReplaceAllString(text, "://"+redacted+"@")
	text = bare.ReplaceAllString(text, redacted)
	return assigned.ReplaceAllString(text, "${1}"+redacted)
}

// told is what the lines of a log may be of: NCCL and RCCL, the verbs, the networks' plugins, torch's word on the network,
// and railhead-pod.
var told = regexp.MustCompile(`\b(?:NCCL|RCCL) (?:INFO|WARN|TRACE|ERROR|VERSION)\b|\b(?:NCCL|RCCL) version\b|^railhead(?:-pod)?: |\blibibverbs: |\bIBV_WC_|\bibv_|ProcessGroupNCCL|DistBackendError|ncclUnhandled|ncclSystemError|ncclInternalError|ncclRemoteError|\bUCX  ?(?:ERROR|WARN)|\bNET/(?:IB|OFI|Socket)\b`)

// mostOfALog bounds the text of one container.
const mostOfALog = 4 << 20

// cleanLog keeps the lines of a log that are told by a library or by Railhead. What the user's program says stays with him.
func cleanLog(text string) string { return keepLines(text, told, mostOfALog) }

// end is what container runtimes and the kubelet say of a container; a user's program writes none of it on its own.
var end = regexp.MustCompile(`^(?:Back-off |[Ff]ailed to |[Ee]rror: |Error response from |rpc error: |OCI runtime |exec |.*executable file not found|.*no such file or directory|.*exec format error|.*permission denied|.*context deadline exceeded|container has runAsNonRoot|secret "|configmap "|couldn't find key |.*ImagePull|.*manifest |.*pull access denied|.*unauthorized|.*x509:)`)

// cleanMessage keeps what the runtime, the kubelet and Railhead say of how a container ended or why it waits.
func cleanMessage(message string) string {
	if message == "" {
		return ""
	}
	const most = 8 << 10
	lines := strings.Lines(message)
	var kept strings.Builder
	for line := range lines {
		if end.MatchString(line) || told.MatchString(line) || strings.HasPrefix(line, "    fix (") || strings.HasPrefix(line, "fail: ") {
			kept.WriteString(cleanText(line))
		}
		if kept.Len() > most {
			break
		}
	}
	return kept.String()
}

func keepLines(text string, which *regexp.Regexp, most int) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !which.MatchString(line) {
			continue
		}
		if kept.Len()+len(line) > most {
			break
		}
		kept.WriteString(cleanText(line))
	}
	return kept.String()
}
