package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// Refusal is OpenShift's answer to a pod that no security context constraint admits.
type Refusal struct {
	NotUsable  []string     // SCCs that whoever asks may not use
	Objections []SCCObjects // of the SCCs that it may use, in the order in which they were tried
}

// SCCObjects are the objections of one SCC.
type SCCObjects struct {
	SCC        string // "" where the text does not say
	Objections []Objection
}

// Objection is one thing of a pod that an SCC does not allow.
type Objection struct {
	Field  string // .containers[0].capabilities.add
	Value  string // "IPC_LOCK", true, []int64{185}
	Detail string // capability may not be added
}

// Feature is what of a pod is objected to, in one word: IPC_LOCK, privileged, fsGroup, downwardAPI volume.
func (o Objection) Feature() string {
	field := o.Field[strings.LastIndex(o.Field, ".")+1:]
	value := strings.Trim(o.Value, `"`)
	switch {
	case strings.HasSuffix(o.Field, "capabilities.add"):
		return value
	case strings.Contains(o.Field, "capabilities"):
		return "dropped capabilities"
	case strings.Contains(o.Field, "volumes["):
		return orDefault(value, "some") + " volume"
	case strings.HasPrefix(o.Field, "scc/"):
		return ""
	}
	return orDefault(field, clip(o.Detail))
}

// The form is that of field.ErrorList (apimachinery pkg/util/validation/field/errors.go) behind the words of
// apiserver-library-go pkg/securitycontextconstraints/sccadmission/admission.go: a provider that may not be used is
// `provider "anyuid": Forbidden: not usable ...`, one that may is `provider restricted-v2: .containers[0]...`. Errors of
// volumes and of old clusters name no provider.
var (
	sccRefusal   = regexp.MustCompile(`(?i)unable to validate against any security context constraint|SecurityContextConstraintsProvider|unable to find annotation openshift\.io/sa\.scc|securitycontextconstraints\.security\.openshift\.io cache is missing`)
	objection    = regexp.MustCompile(`(?:(?:provider )?("?\w[\w./-]*"?): ?)?(?:provider )?([\w.][\w.\[\]/-]*|"[\w.-]+"): (Invalid value|Forbidden|Required value|Unsupported value)\b:?`)
	quotedOrWord = regexp.MustCompile(`^ ?("(?:[^"\\]|\\.)*"|\[\][\w.]+\{[^}]*\}|[^:]*): `)
)

// ParseRefusal reads what OpenShift's admission says of a pod; ok is false when it is no such text.
func ParseRefusal(text string) (r Refusal, ok bool) {
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
		o := Objection{Field: field, Detail: rest}
		if m := quotedOrWord.FindStringSubmatch(" " + rest); m != nil && group(3) == "Invalid value" {
			o.Value, o.Detail = m[1], strings.TrimPrefix(" "+rest, m[0])
		}
		r.add(scc, o)
	}
	return r, true
}

func (r *Refusal) add(scc string, o Objection) {
	i := slices.IndexFunc(r.Objections, func(s SCCObjects) bool { return s.SCC == scc })
	if i < 0 {
		i = len(r.Objections)
		r.Objections = append(r.Objections, SCCObjects{SCC: scc})
	}
	r.Objections[i].Objections = append(r.Objections[i].Objections, o)
}

// Features are what an SCC objects to, each once.
func (s SCCObjects) Features() []string {
	var features []string
	for _, o := range s.Objections {
		if f := o.Feature(); f != "" && !slices.Contains(features, f) {
			features = append(features, f)
		}
	}
	return features
}

// Closest is the usable SCC with the fewest objections, the one that names itself first.
func (r Refusal) Closest() (SCCObjects, bool) {
	if len(r.Objections) == 0 {
		return SCCObjects{}, false
	}
	return slices.MinFunc(r.Objections, func(a, b SCCObjects) int {
		named := func(s SCCObjects) int { return len(s.SCC) }
		if (named(a) == 0) != (named(b) == 0) {
			return cmp.Compare(named(b), named(a))
		}
		return cmp.Compare(len(a.Features()), len(b.Features()))
	}), true
}

// objectsTo reports whether any SCC objects to a feature.
func (r Refusal) objectsTo(feature string) bool {
	return slices.ContainsFunc(r.Objections, func(s SCCObjects) bool { return slices.Contains(s.Features(), feature) })
}

// sccRefused explains why no SCC admits a pod: by the SCC that is closest, and by those that are not granted.
func sccRefused(p patient, said symptom) (check.Finding, bool) {
	r, ok := ParseRefusal(said.text)
	if !ok {
		return check.Finding{}, false
	}
	f := check.Finding{Check: SCCOther, Status: check.Fail}
	closest, some := r.Closest()
	switch {
	case r.objectsTo("IPC_LOCK") && !r.objectsTo("privileged"):
		f.Check = SCCIPCLock
		f.Summary = "no SCC that its service account may use lets " + p.name() + " add IPC_LOCK"
	case some && len(closest.Features()) > 0:
		f.Summary = fmt.Sprintf("no SCC that its service account may use allows %s of %s", strings.Join(closest.Features(), ", "), p.name())
	case len(r.NotUsable) > 0:
		f.Summary = "the service account of " + p.name() + " may use none of " + listed(r.NotUsable)
	default:
		f.Summary = "OpenShift's admission refuses " + p.name() + ": " + clip(afterForbidden(said.text))
	}
	if closest.SCC != "" {
		f.Evidence = append(f.Evidence, check.Evidence{Source: "scc/" + closest.SCC, Got: "closest; objects to " + strings.Join(closest.Features(), ", ")})
	}
	f.Evidence = append(f.Evidence, p.wouldAllow(r)...)
	f.Fix = p.sccFix(f.Check, r)
	return f, true
}

// wouldAllow are the SCCs that the service account may not use and that do not object to what the closest objects to.
func (p patient) wouldAllow(r Refusal) []check.Evidence {
	var evidence []check.Evidence
	for _, name := range r.NotUsable {
		if c, ok := p.s.SCC(name); ok && !c.Privileged && c.AllowsCapability("IPC_LOCK") && r.objectsTo("IPC_LOCK") {
			evidence = append(evidence, check.Evidence{Source: "scc/" + name, Got: "allows IPC_LOCK, and is not granted to the service account", Want: "a RoleBinding in namespace " + p.namespace()})
		}
	}
	return evidence
}

func (p patient) sccFix(id check.ID, r Refusal) *check.Fix {
	fix := &check.Fix{Who: check.Admin}
	setUp := "railhead setup namespace " + p.namespace()
	switch {
	case id == SCCIPCLock:
		fix.Text = "Lift the memlock limit on the nodes, and no capability is needed; or let the service account use an SCC that allows it."
		fix.Commands = []string{"railhead setup cluster", "railhead setup cluster --allow-ipc-lock", setUp}
	case r.objectsTo("privileged"):
		fix.Text = "RDMA needs no privileged container: deploy without --privileged. Else an administrator grants the SCC privileged, which opens the node to the pod."
		fix.Commands = []string{"railhead deploy " + p.job() + " ..."}
		fix.Who = check.User
	case r.objectsTo("downwardAPI volume"):
		fix.Text = "The network-resources-injector adds a downwardAPI volume to every pod with networks: the SCC must list it among its volumes."
		fix.Commands = []string{"railhead setup cluster"}
	case r.objectsTo("fsGroup"), r.objectsTo("runAsUser"), r.objectsTo("supplementalGroups"):
		fix.Text = "Leave user and group to OpenShift, which gives them from the namespace's range; or use an SCC with RunAsAny."
		fix.Commands = []string{"oc get namespace " + p.namespace() + " -o yaml | grep sa.scc"}
		fix.Who = check.User
	case len(r.Objections) == 0 && len(r.NotUsable) > 0:
		fix.Text = "Let the service account use the SCC."
		fix.Commands = []string{setUp}
	default:
		fix.Text = "Leave out what is objected to, or let the service account use an SCC that allows it."
		fix.Commands = []string{setUp + " --scc SCC"}
	}
	return fix
}
