package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// matters are the functions that matter to RDMA: bridges, GPUs and NICs.
	matters = regexp.MustCompile(`^[0-9a-f:.]+ (?:PCI bridge|(?:3D|Ethernet|Infiniband) controller): `)
	// told are the lines of lspci -vvv that are about links, requests, services of access control and buses.
	told = regexp.MustCompile(`^\t(?:Bus:|NUMA node:|Kernel driver in use:)|` +
		`^\t\t(?:Lnk(?:Cap|Sta):|ACSCap:|ACSCtl:|Dev(?:Cap|Ctl):)|^\t\t\tMaxPayload `)
)

// redactLspci keeps the lines of lspci -vvv that matter to RDMA. Serial numbers, slots and makers of boards are gone.
func redactLspci(w words, text string) (string, *redactor) {
	var kept []string
	for _, function := range functions(text) {
		lines := strings.Split(function, "\n")
		block := lines[:1]
		for _, line := range lines[1:] {
			if told.MatchString(line) {
				block = append(block, line)
			}
		}
		kept = append(kept, strings.Join(block, "\n"))
	}
	return w.redact(strings.Join(kept, "\n\n") + "\n")
}

// functions returns the paragraphs of the functions that matter.
func functions(text string) []string {
	var found []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph = strings.TrimSpace(paragraph); matters.MatchString(paragraph) {
			found = append(found, paragraph)
		}
	}
	return found
}

// verdictOfLspci counts what Railhead's tests read of the functions that matter.
func verdictOfLspci(text string) string {
	found := functions(text)
	if len(found) == 0 {
		return ""
	}
	all := strings.Join(found, "\n")
	count := func(what string) int { return strings.Count(all, what) }
	return fmt.Sprintf("%d functions, %d ACS, %d links, %d sizes, %d buses",
		len(found), count("ACSCtl:"), count("LnkSta:"), count("MaxReadReq"), count("secondary="))
}
