package cluster

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The API server's words when it refuses a pod. A controller quotes them in an event FailedCreate.
var (
	podSecurity = regexp.MustCompile(`(?i)violates PodSecurity "([^"]*)": (.*)|unable to validate against any pod security policy`)
	// apiserver pkg/admission/plugin/resourcequota/controller.go, plugin/pkg/admission/limitranger/admission.go.
	quota      = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.*?), used: (.*?), limited: (.*)`)
	quotaOther = regexp.MustCompile(`failed quota: ([^:]+): must specify (.*)|insufficient quota to (consume|match)|(?:maximum|minimum) .* usage per (?:Container|Pod)|exceeded quota`)
	// plugin/pkg/admission/serviceaccount/admission.go.
	noAccount  = regexp.MustCompile(`error looking up service account ([^/\s]+)/([^:\s]+)|serviceaccount "([^"]+)" not found`)
	terminates = regexp.MustCompile(`because it is being terminated|namespace .* is being terminated|namespaces "[^"]+" not found`)
	refusal    = regexp.MustCompile(`(?i)is forbidden:|admission webhook "[^"]+" denied|is invalid:|failed calling webhook|required scc/`)
)

// podSecurityRefused explains what the namespace's Pod Security level, or a policy of older clusters, turns away. That
// IPC_LOCK may not be added has its own family, whoever refuses it.
func podSecurityRefused(p patient, said symptom) (check.Finding, bool) {
	m := podSecurity.FindStringSubmatch(said.text)
	if m == nil {
		return check.Finding{}, false
	}
	level, what := m[1], m[2]
	if level == "" {
		_, what, _ = strings.Cut(said.text, "pod security policy")
		what = strings.TrimLeft(what, ": ")
	}
	f := check.Finding{
		Check: PodSecurity, Status: check.Fail,
		Summary: fmt.Sprintf("the Pod Security level %q of namespace %s refuses %s: %s", level, p.namespace(), p.name(), clip(what)),
		Fix: &check.Fix{Text: "Let the namespace enforce a level that allows what the pod asks for.", Who: check.Admin,
			Commands: []string{"kubectl label --overwrite namespace " + p.namespace() + " pod-security.kubernetes.io/enforce=privileged"}},
	}
	if level == "" {
		f.Summary = "the pod security policies refuse " + p.name() + ": " + clip(what)
		f.Fix = &check.Fix{Text: "Let the service account use a policy that allows what the pod asks for.", Who: check.Admin}
	}
	if strings.Contains(what, "IPC_LOCK") {
		f.Check = SCCIPCLock
		f.Fix.Text += " Or lift the memlock limit on the nodes, and the pod needs no capability."
	}
	return f, true
}

func quotaExceeded(p patient, said symptom) (check.Finding, bool) {
	f := check.Finding{
		Check: QuotaExceeded, Status: check.Fail,
		Fix: &check.Fix{Text: "Ask for less, end what holds the rest, or let an administrator raise the quota.", Who: check.User,
			Commands: []string{p.kubectl("describe resourcequota,limitrange")}},
	}
	if m := quota.FindStringSubmatch(said.text); m != nil {
		f.Summary = fmt.Sprintf("quota %s of namespace %s: %s asks for %s, %s is used of %s", m[1], p.namespace(), p.name(), m[2], m[3], m[4])
		return f, true
	}
	m := quotaOther.FindStringSubmatch(said.text)
	if m == nil {
		return check.Finding{}, false
	}
	f.Summary = "a quota or limit range of namespace " + p.namespace() + " refuses " + p.name() + ": " + clip(afterForbidden(said.text))
	if m[2] != "" {
		f.Summary = fmt.Sprintf("quota %s of namespace %s wants every container to say %s", m[1], p.namespace(), clip(m[2]))
		f.Fix.Text, f.Fix.Commands = "Say how much the pods need.", []string{"railhead deploy " + p.job() + " --cpu 32 --memory 256Gi ..."}
	}
	return f, true
}

func afterForbidden(text string) string {
	if _, after, found := strings.Cut(text, "is forbidden: "); found {
		return after
	}
	return text
}

// admissionRefused quotes any other refusal of the API server.
func admissionRefused(p patient, said symptom) (check.Finding, bool) {
	f := check.Finding{Check: AdmissionRefused, Status: check.Fail}
	account := noAccount.FindStringSubmatch(said.text)
	switch {
	case account != nil:
		name := orDefault(account[2], account[3])
		f.Summary = fmt.Sprintf("service account %s is not there in namespace %s", name, p.namespace())
		f.Fix = &check.Fix{Text: "Set the namespace up: that makes the service account.", Who: check.User, Commands: []string{
			"railhead setup namespace " + p.namespace() + " --name " + strings.TrimSuffix(name, "-sa")}}
	case terminates.MatchString(said.text):
		f.Summary = "namespace " + p.namespace() + " is being deleted, or gone"
		f.Fix = &check.Fix{Text: "Wait until it is gone, then make it again.", Who: check.User, Commands: []string{"kubectl get namespace " + p.namespace() + " -o yaml"}}
	case refusal.MatchString(said.text):
		f.Summary = "the API server refuses " + p.name() + ": " + clip(afterForbidden(said.text))
		f.Fix = &check.Fix{Text: "Change what the refusal names, or ask whoever runs the webhook or policy.", Who: check.User}
	default:
		return f, false
	}
	return f, true
}
