package pods

import "strings"

// longestQuote limits the quote of a message in a summary; the evidence has the whole message.
const longestQuote = 160

var (
	// wrapping matches what the kubelet, container runtimes and Multus put in front of the words of a plugin or a hook.
	wrapping = anyOf(
		`\bdesc = `,
		`failed \(add\): `,
		`(?:OCI runtime create|runc create|container create) failed: `,
		`unable to start container process: `,
		`during container init: `,
		`starting container process caused:? `,
		`error modifying OCI spec: `,
		`\bstderr: (?:Auto-detected mode as '[^']*' )?`,
		`exec command: \[[^\]]*\]`,
		`error adding container to network "[^"]*": `,
		`network(?:ing)?(?: for (?:pod|sandbox) "[^"]*")?: `,
		`failed to create (?:containerd|shim) task: `,
		`AddNetwork: `,
		`failed to set up IPAM plugin type "[^"]*" from the device "[^"]*": `,
		`[Dd]elegate ?[Aa]dd - "[^"]*": `,
		`\bargs: `,
		`(?:TryLoadPodDelegates|GetNetworkDelegates|GetPodNetwork): `,
		`error in getting k8s network (?:for|from) pod: `,
		`failed getting the delegate: `,
		`prepare dynamic resources: `,
	)
	// afterwards matches what follows: the cleaning up that failed too, and the input of the plugin.
	afterwards = anyOf(`,? failed to clean up sandbox`, `'?: StdinData: `, ` preemption: `)
)

// quote shortens a message. Errors are nested: the informative words are at the end, after the words of every caller
// that passed the error on. If the message is still too long, quote leaves out its middle.
func quote(message string) string {
	if len(message) <= longestQuote {
		return message
	}
	if i := afterwards.FindStringIndex(message); i != nil && i[0] > 0 {
		message = message[:i[0]]
	}
	if all := wrapping.FindAllStringIndex(message, -1); len(all) > 0 {
		if rest := message[all[len(all)-1][1]:]; rest != "" {
			message = rest
		}
	}
	return middleOut(message, longestQuote)
}

// middleOut leaves out the middle of a text that is longer than most bytes.
func middleOut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2]+" ... "+text[len(text)-most/2:], "")
}
