package pods

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/words"
)

// refusal is OpenShift's answer for a pod that no security context constraint admits.
type refusal struct {
	NotUsable  []string        // SCCs that the requester may not use
	Objections []sccObjections // of usable SCCs, in the order in which they were tried
}

// sccObjections holds the objections of one SCC.
type sccObjections struct {
	SCC        string // "" if the text does not name it
	Objections []fieldError
}

// fieldError is one thing of a pod that an SCC does not allow.
type fieldError struct {
	Field  string // .containers[0].capabilities.add
	Value  string // "IPC_LOCK", true, []int64{185}
	Detail string // capability may not be added
}

// feature names the field of the pod in one word: IPC_LOCK, privileged, fsGroup, downwardAPI volume.
func (o fieldError) feature() string {
	field := o.Field[strings.LastIndex(o.Field, ".")+1:]
	value := strings.Trim(o.Value, `"`)
	switch {
	case o.addsCapability():
		return value
	case strings.Contains(o.Field, "capabilities"):
		return "dropped capabilities"
	case strings.Contains(o.Field, "volumes["):
		return cmp.Or(value, "some") + " volume"
	case strings.HasPrefix(o.Field, "scc/"):
		return ""
	}
	return cmp.Or(field, quote(o.Detail))
}

func (o fieldError) addsCapability() bool { return strings.HasSuffix(o.Field, "capabilities.add") }

// The messages have the form of field.ErrorList (apimachinery pkg/util/validation/field/errors.go) after the words of
// apiserver-library-go pkg/securitycontextconstraints/sccadmission/admission.go: a provider that may not be used is
// `provider "anyuid": Forbidden: not usable ...`, one that may is `provider restricted-v2: .containers[0]...`. Errors
// of volumes and of old clusters name no provider.
var (
	sccRefusal = anyCase(
		`unable to validate against any security context constraint`,
		`SecurityContextConstraintsProvider`,
		`unable to find annotation openshift\.io/sa\.scc`,
		`securitycontextconstraints\.security\.openshift\.io cache is missing`,
	)
	objection = regexp.MustCompile(`(?:(?:provider )?("?\w[\w./-]*"?): ?)?` +
		`(?:provider )?([\w.][\w.\[\]/-]*|"[\w.-]+"): ` +
		`(Invalid value|Forbidden|Required value|Unsupported value)\b:?`)
	quotedOrWord = regexp.MustCompile(`^ ?("(?:[^"\\]|\\.)*"|\[\][\w.]+\{[^}]*\}|[^:]*): `)
)

// parseRefusal reads a message of OpenShift's admission; ok is false if it is none.
func parseRefusal(text string) (r refusal, ok bool) {
	text = oneLine(text)
	start := sccRefusal.FindStringIndex(text)
	if start == nil {
		return r, false
	}
	text = text[start[1]:]
	heads := objection.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		group := func(n int) string {
			if h[2*n] < 0 {
				return ""
			}
			return text[h[2*n]:h[2*n+1]]
		}
		scc, field := strings.Trim(group(1), `"`), group(2)
		rest := strings.TrimRight(strings.TrimLeft(text[h[1]:end], " "), " ,])")
		if strings.HasPrefix(rest, "not usable") {
			r.NotUsable = append(r.NotUsable, strings.Trim(field, `"`))
			continue
		}
		o := fieldError{Field: field, Detail: rest}
		if m := quotedOrWord.FindStringSubmatch(" " + rest); m != nil && group(3) == "Invalid value" {
			o.Value, o.Detail = m[1], strings.TrimPrefix(" "+rest, m[0])
		}
		r.add(scc, o)
	}
	return r, true
}

func (r *refusal) add(scc string, o fieldError) {
	i := slices.IndexFunc(r.Objections, func(s sccObjections) bool { return s.SCC == scc })
	if i < 0 {
		i = len(r.Objections)
		r.Objections = append(r.Objections, sccObjections{SCC: scc})
	}
	r.Objections[i].Objections = append(r.Objections[i].Objections, o)
}

// features returns the features that an SCC objects to, each once.
func (s sccObjections) features() []string {
	var features []string
	for _, o := range s.Objections {
		if f := o.feature(); f != "" && !slices.Contains(features, f) {
			features = append(features, f)
		}
	}
	return features
}

// closest returns the usable SCC with the fewest objections; if possible one that the message names.
func (r refusal) closest() sccObjections {
	if len(r.Objections) == 0 {
		return sccObjections{}
	}
	return slices.MinFunc(r.Objections, func(a, b sccObjections) int {
		if (a.SCC == "") != (b.SCC == "") {
			return cmp.Compare(len(b.SCC), len(a.SCC))
		}
		return cmp.Compare(len(a.features()), len(b.features()))
	})
}

// capabilities returns the capabilities that may not be added.
func (r refusal) capabilities() []string {
	var all []string
	for _, s := range r.Objections {
		for _, o := range s.Objections {
			if name := o.feature(); o.addsCapability() && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// objectsTo reports whether any SCC objects to a feature.
func (r refusal) objectsTo(feature string) bool {
	objects := func(s sccObjections) bool { return slices.Contains(s.features(), feature) }
	return slices.ContainsFunc(r.Objections, objects)
}

// sccRefused explains why no SCC admits a pod: by the SCC with the fewest objections, and by those that are not
// granted.
func sccRefused(t target, sym symptom) check.Finding {
	r, _ := parseRefusal(sym.text)
	f := check.Finding{Check: SCCOther, Status: check.Fail}
	if account := t.pod.ServiceAccount; account != "" {
		f.About = append(f.About, check.Ref{Kind: check.ServiceAccount, Namespace: t.pod.Namespace, Name: account})
	}
	for _, capability := range r.capabilities() {
		f.About = append(f.About, check.Named(check.Capability, capability))
	}
	closest := r.closest()
	features := strings.Join(closest.features(), ", ")
	switch {
	case r.objectsTo("IPC_LOCK") && !r.objectsTo("privileged"):
		f.Check = SCCIPCLock
		f.Summary = "no SCC that its service account may use lets " + t.name() + " add IPC_LOCK"
	case features != "":
		f.Summary = fmt.Sprintf("no SCC that its service account may use allows %s of %s", features, t.name())
	case len(r.NotUsable) > 0:
		f.Summary = "the service account of " + t.name() + " may use none of " + words.Few(r.NotUsable, 4)
	default:
		f.Summary = "OpenShift's admission refuses " + t.name() + ": " + quote(afterForbidden(sym.text))
	}
	if closest.SCC != "" {
		got := "closest; objects to " + features
		f.Evidence = append(f.Evidence, check.Evidence{Source: "scc/" + closest.SCC, Got: got})
	}
	f.Evidence = append(f.Evidence, notGranted(t, r)...)
	f.Fix = t.sccFix(f.Check, r)
	return f
}

// notGranted returns the SCCs that would allow IPC_LOCK and are not granted to the service account.
func notGranted(t target, r refusal) []check.Evidence {
	var evidence []check.Evidence
	for _, name := range r.NotUsable {
		if r.objectsTo("IPC_LOCK") && slices.Contains(t.s.SCCsForRDMA(), name) {
			evidence = append(evidence, check.Evidence{
				Source: "scc/" + name,
				Got:    "allows IPC_LOCK, and is not granted to the service account",
				Want:   "a RoleBinding in namespace " + t.namespace(),
			})
		}
	}
	return evidence
}

// GrantSCC returns the fix that lets a service account use an SCC in its namespace alone. An empty account is not
// known.
func GrantSCC(scc, namespace, account string) *check.Fix {
	setUp := "railhead setup namespace " + namespace
	if scc != cluster.RailheadSCC {
		setUp += " --scc " + scc
	}
	named := cmp.Or(account, "ACCOUNT")
	grant := fmt.Sprintf("oc adm policy add-scc-to-user %s -z %s -n %s", scc, named, namespace)
	fix := check.ByAdmin(fmt.Sprintf("Let service account %s use SCC %s, in this namespace only: without -n the "+
		"grant is for the whole cluster.", named, scc), grant)
	switch job, ok := strings.CutSuffix(account, "-sa"); { // setup namespace makes accounts with such names alone
	case ok:
		fix.Commands = []string{setUp + " --name " + job, grant}
	case account == "":
		fix.Commands = []string{setUp, grant}
	}
	return fix
}

// sccToGrant returns the best SCC of those that allow locked memory and are not granted; "" if none is known.
func sccToGrant(t target, r refusal) string {
	for _, name := range t.s.SCCsForRDMA() {
		if slices.Contains(r.NotUsable, name) {
			return name
		}
	}
	return ""
}

func (t target) sccFix(id check.ID, r refusal) *check.Fix {
	account, scc := t.pod.ServiceAccount, sccToGrant(t, r)
	switch {
	case id == SCCIPCLock && scc != "":
		fix := GrantSCC(scc, t.namespace(), account)
		fix.Text += " Or lift the memlock limit on the nodes, so that no capability is needed."
		fix.Commands = append(fix.Commands, "railhead setup cluster")
		return fix
	case id == SCCIPCLock:
		return check.ByAdmin("Lift the memlock limit on the nodes, so that no capability is needed, or let the "+
			"service account use an SCC that allows it.",
			"railhead setup cluster", "railhead setup cluster --allow-ipc-lock",
			"railhead setup namespace "+t.namespace())
	case r.objectsTo("privileged"):
		return check.ByUser("RDMA needs no privileged container: deploy without --privileged. Otherwise an "+
			"administrator must grant the SCC privileged, which opens the node to the pod.",
			"railhead deploy "+t.job()+" ...")
	case r.objectsTo("downwardAPI volume"):
		return check.ByAdmin("The network-resources-injector adds a downwardAPI volume to every pod with networks: "+
			"the SCC must list it in its volumes.", "railhead setup cluster")
	case r.objectsTo("fsGroup"), r.objectsTo("runAsUser"), r.objectsTo("supplementalGroups"):
		return check.ByUser("Leave user and group to OpenShift, which sets them from the namespace's range; or use "+
			"an SCC with RunAsAny.",
			"oc get namespace "+t.namespace()+" -o yaml | grep sa.scc")
	case len(r.Objections) == 0 && len(r.NotUsable) > 0:
		return GrantSCC(cmp.Or(scc, "SCC"), t.namespace(), account)
	}
	fix := GrantSCC("SCC", t.namespace(), account)
	fix.Text = "Remove what the SCCs object to, or let the service account use an SCC that allows it."
	return fix
}
