package pods

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// The messages of the API server when it refuses a pod. A controller quotes them in an event FailedCreate.
var (
	podSecurity = anyCase(
		`violates PodSecurity "([^"]*)": (.*)`,
		`unable to validate against any pod security policy`,
	)
	// apiserver pkg/admission/plugin/resourcequota/controller.go, plugin/pkg/admission/limitranger/admission.go.
	quota      = anyOf(`exceeded quota: ([^,]+), requested: (.*?), used: (.*?), limited: (.*)`)
	quotaOther = anyOf(
		`failed quota: ([^:]+): must specify (.*)`,
		`insufficient quota to (consume|match)`,
		`(?:maximum|minimum) .* usage per (?:Container|Pod)`,
		`exceeded quota`,
	)
	// plugin/pkg/admission/serviceaccount/admission.go.
	noAccount = anyOf(
		`error looking up service account ([^/\s]+)/([^:\s]+)`,
		`serviceaccount "([^"]+)" not found`,
	)
	terminates = anyOf(
		`because it is being terminated`,
		`namespace .* is being terminated`,
		`namespaces "[^"]+" not found`,
	)
	otherRefusal = anyCase(
		`is forbidden:`,
		`admission webhook "[^"]+" denied`,
		`is invalid:`,
		`failed calling webhook`,
		`required scc/`,
	)
)

// podSecurityRefused explains a refusal by the namespace's Pod Security level, or by a policy of older clusters. A
// refused IPC_LOCK has a check of its own, whatever refuses it.
func podSecurityRefused(t target, sym symptom) check.Finding {
	m := podSecurity.FindStringSubmatch(sym.text)
	level, what := m[1], m[2]
	f := failure(PodSecurity,
		fmt.Sprintf("the Pod Security level %q of namespace %s refuses %s: %s",
			level, t.namespace(), t.name(), quote(what)),
		check.ByAdmin("Let the namespace enforce a level that allows what the pod needs.",
			"kubectl label --overwrite namespace "+t.namespace()+" pod-security.kubernetes.io/enforce=privileged"))
	if level == "" {
		_, what, _ = strings.Cut(sym.text, "pod security policy")
		what = strings.TrimLeft(what, ": ")
		f.Summary = "the pod security policies refuse " + t.name() + ": " + quote(what)
		f.Fix = check.ByAdmin("Let the service account use a policy that allows what the pod needs.")
	}
	if strings.Contains(what, "IPC_LOCK") {
		f.Check = SCCIPCLock
		f.Fix.Text += " Or lift the memlock limit on the nodes: the pod then needs no capability."
	}
	return f
}

func quotaExceeded(t target, sym symptom) check.Finding {
	f := failure(QuotaExceeded, "",
		check.ByUser("Request less, stop other pods, or let an administrator raise the quota.",
			t.kubectl("describe resourcequota,limitrange")))
	if m := quota.FindStringSubmatch(sym.text); m != nil {
		f.Summary = fmt.Sprintf("quota %s of namespace %s: %s requests %s, %s is used of %s",
			m[1], t.namespace(), t.name(), m[2], m[3], m[4])
		return f
	}
	f.Summary = fmt.Sprintf("a quota or limit range of namespace %s refuses %s: %s",
		t.namespace(), t.name(), quote(afterForbidden(sym.text)))
	if m := quotaOther.FindStringSubmatch(sym.text); m[2] != "" {
		f.Summary = fmt.Sprintf("quota %s of namespace %s requires every container to specify %s",
			m[1], t.namespace(), quote(m[2]))
		f.Fix = check.ByUser("Specify what the pods need.", t.deploy("--cpu 32 --memory 256Gi"))
	}
	return f
}

func afterForbidden(text string) string {
	if _, after, found := strings.Cut(text, "is forbidden: "); found {
		return after
	}
	return text
}

// admissionRefused quotes any other refusal of the API server.
func admissionRefused(t target, sym symptom) check.Finding {
	account := noAccount.FindStringSubmatch(sym.text)
	switch {
	case account != nil:
		name := cmp.Or(account[2], account[3])
		setUp := "railhead setup namespace " + t.namespace() + " --name " + strings.TrimSuffix(name, "-sa")
		return failure(AdmissionRefused, "service account "+name+" does not exist in namespace "+t.namespace(),
			check.ByUser("Set up the namespace: that creates the service account.", setUp))
	case terminates.MatchString(sym.text):
		return failure(AdmissionRefused, "namespace "+t.namespace()+" is being deleted or does not exist",
			check.ByUser("Wait until it is deleted, then create it again.",
				"kubectl get namespace "+t.namespace()+" -o yaml"))
	}
	return failure(AdmissionRefused, "the API server refuses "+t.name()+": "+quote(afterForbidden(sym.text)),
		check.ByUser("Change what the refusal names, or ask the owner of the webhook or policy."))
}
