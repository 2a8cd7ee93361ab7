package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan"
	"github.com/railhead/railhead/internal/plan/plantest"
	"github.com/railhead/railhead/internal/workload"
)

var now = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)

func kubernetes() cluster.State {
	return cluster.State{
		Taken:      now,
		Server:     cluster.Server{Minor: 34, Groups: []string{"apps"}},
		Read:       Kinds(),
		Namespaces: []cluster.Namespace{{Name: "train", Labels: map[string]string{workload.WebhookLabel: workload.WebhookEnabled}}},
	}
}

func openShift() cluster.State {
	s := kubernetes()
	s.Server.Groups = append(s.Server.Groups, cluster.SecurityGroup)
	return s
}

// certificate ends after a time.
func certificate(t *testing.T, valid time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: now.Add(valid)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// applied is the cluster after a plan, and its server as the controllers make it.
func applied(s cluster.State, p plan.Plan) cluster.State {
	for _, c := range p.Changes() {
		o := c.Object
		if o.GetKind() == "Secret" { // setup never reads Secrets
			continue
		}
		s.Objects = append([]cluster.Object{{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
			Fields: o.DeepCopy().Object,
		}}, s.Objects...)
		if o.GetKind() == "Namespace" {
			s.Namespaces = append(s.Namespaces, cluster.Namespace{Name: o.GetName()})
		}
	}
	return s
}

// TestObjects compares everything that is written.
func TestObjects(t *testing.T) {
	ours := Options{Image: "registry.example/railhead:1", Cert: []byte("a certificate"), Key: []byte("its key")}
	strict := Options{
		Image: "registry.example/railhead:1", PodImage: "registry.example/railhead:1", Mode: "auto", Fail: true,
	}
	for name, c := range map[string]struct {
		s cluster.State
		o Options
	}{"kubernetes": {kubernetes(), ours}, "openshift": {openShift(), strict}} {
		t.Run(name, func(t *testing.T) {
			p, findings := Setup(c.s, c.o)
			if len(findings) > 0 {
				t.Fatal(plantest.Lines(findings))
			}
			text := "# " + strings.Join(p.Notes, "\n# ") + "\n"
			for _, step := range p.Steps {
				text += "---\n# " + step.Title + "\n"
				for _, change := range step.Changes {
					object, err := yaml.Marshal(change.Object.Object)
					if err != nil {
						t.Fatal(err)
					}
					text += fmt.Sprintf("---\n# %s: %s\n%s", change.Verb, change.Why, object)
				}
			}
			plantest.Golden(t, name+".yaml", text)
		})
	}
}

// TestAgain: a second run changes nothing, and a certificate that ends soon is replaced together with the pods.
func TestAgain(t *testing.T) {
	for situation, c := range map[string]struct {
		s     cluster.State
		valid time.Duration
		kinds string
	}{
		"by railhead": {kubernetes(), 2 * renewal, ""},
		"the certificate's": {
			kubernetes(), renewal / 2,
			"MutatingWebhookConfiguration Secret Deployment MutatingWebhookConfiguration",
		},
		"by the service CA": {openShift(), 0, ""},
	} {
		t.Run(situation, func(t *testing.T) {
			o := Options{Image: "railhead", Cert: certificate(t, c.valid), Key: []byte("key")}
			p, _ := Setup(c.s, o)
			o.Cert = certificate(t, 3*renewal)
			p, findings := Setup(applied(c.s, p), o)
			var kinds []string
			for _, change := range p.Changes() {
				kinds = append(kinds, change.Object.GetKind())
			}
			if got := strings.Join(kinds, " "); got != c.kinds || len(findings) > 0 {
				t.Errorf("%q, findings %q", got, plantest.Lines(findings))
			}
		})
	}
}

// TestRenewal: the API server trusts the certificate of the old and of the new replicas for as long as either answers,
// wherever a run is interrupted.
func TestRenewal(t *testing.T) {
	was, is := certificate(t, renewal/2), certificate(t, 3*renewal)
	o := Options{Image: "railhead", Cert: was, Key: []byte("key")}
	p, _ := Setup(kubernetes(), o)
	s := applied(kubernetes(), p)
	trusted := func(s cluster.State) string {
		live, _ := s.Object(configurationKind, "", Configuration)
		return string(bundle(live))
	}
	o.Cert = is
	p, _ = Setup(s, o)
	for i, step := range p.Steps {
		for _, change := range step.Changes {
			if change.Object.GetKind() == "Deployment" && trusted(s) != string(was)+string(is) {
				t.Errorf("before the server changes, the API server trusts:\n%s", trusted(s))
			}
		}
		s = applied(s, plan.Plan{Steps: p.Steps[i : i+1]})
		next := o
		next.Cert = certificate(t, 4*renewal)
		again, _ := Setup(s, next)
		whole := applied(s, again)
		if last, _ := Setup(whole, next); !last.Empty() || strings.Count(trusted(whole), "BEGIN") != 1 {
			t.Errorf("interrupted after step %s: then %d steps are left, and the API server trusts:\n%s",
				step.ID, len(last.Steps), trusted(whole))
		}
	}
	if trusted(s) != string(is) {
		t.Errorf("finally the API server trusts:\n%s", trusted(s))
	}
}

// TestInterrupted: after a run that wrote no configuration, the next one keeps the certificate and waits for the server.
func TestInterrupted(t *testing.T) {
	for name, s := range map[string]cluster.State{"by railhead": kubernetes(), "by the service CA": openShift()} {
		o := Options{Image: "railhead", Cert: certificate(t, 2*renewal), Key: []byte("key")}
		p, _ := Setup(s, o)
		p.Steps = p.Steps[:1]
		o.Cert = certificate(t, 3*renewal)
		p, findings := Setup(applied(s, p), o)
		if len(findings) > 0 || len(p.Steps) != 2 || p.Steps[0].Done == nil || len(p.Steps[0].Changes) > 0 ||
			len(p.Steps[1].Changes) != 1 {
			t.Errorf("%s: %+v, findings %q", name, p.Steps, plantest.Lines(findings))
		}
	}
}

func TestRefusals(t *testing.T) {
	taken, deleted := kubernetes(), kubernetes()
	taken.Namespaces = append(taken.Namespaces, cluster.Namespace{Name: Namespace})
	deleted.Namespaces = append(deleted.Namespaces, cluster.Namespace{Name: Namespace, Terminating: true})
	deleted.Objects = []cluster.Object{{Kind: "Namespace", Name: Namespace}}
	unread := kubernetes()
	unread.Problems = []cluster.Problem{{Kind: cluster.Webhooks, Err: "forbidden", Forbidden: true}}
	for situation, c := range map[string]struct {
		s    cluster.State
		o    Options
		want check.ID
	}{
		"no image":                {kubernetes(), Options{}, plan.JobRequest},
		"somebody else's":         {taken, Options{Image: "railhead"}, plan.NameFree},
		"namespace going":         {deleted, Options{Image: "railhead"}, plan.NamespaceReady},
		"a list that is not read": {unread, Options{Image: "railhead"}, "cluster-readable"},
	} {
		p, findings := Setup(c.s, c.o)
		if len(findings) != 1 || findings[0].Check != c.want || !p.Empty() {
			t.Errorf("%s: %q, plan %v", situation, plantest.Lines(findings), p)
		}
	}
	if _, findings := Undo(unread); len(findings) != 1 {
		t.Errorf("undo: %q", plantest.Lines(findings))
	}
}

// TestUndo: the configuration is deleted first, and nothing of others.
func TestUndo(t *testing.T) {
	s := kubernetes()
	p, _ := Setup(s, Options{Image: "railhead", Cert: certificate(t, renewal), Key: []byte("key")})
	s = applied(s, p)
	theirs := cluster.Object{Kind: "Namespace", Name: "train", Fields: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{plan.LabelComponent: "namespace"}},
	}}
	s.Objects = append(s.Objects, theirs)
	p, findings := Undo(s)
	var got []string
	for _, c := range p.Changes() {
		got = append(got, string(c.Verb)+" "+c.Object.GetKind()+" "+c.Object.GetNamespace()+"/"+c.Object.GetName())
	}
	want := []string{
		"delete MutatingWebhookConfiguration /inject-railhead", "delete Deployment railhead-system/railhead-webhook",
		"delete PodDisruptionBudget railhead-system/railhead-webhook",
		"delete Service railhead-system/railhead-webhook",
		"delete ServiceAccount railhead-system/railhead-webhook", "delete ClusterRoleBinding /railhead-webhook",
		"delete ClusterRole /railhead-webhook", "delete Namespace /railhead-system",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(findings) > 0 {
		t.Errorf("%s%q", diff, plantest.Lines(findings))
	}
	if p, _ := Undo(kubernetes()); !p.Empty() {
		t.Errorf("nothing to undo: %v", p)
	}
}

// TestLeftSecret: a run that is interrupted after its Secret leaves one that no later run sees. The plan says so, and
// the way back finds it by its namespace, also without any other object.
func TestLeftSecret(t *testing.T) {
	o := Options{Image: "railhead", Cert: certificate(t, 2*renewal), Key: []byte("key")}
	p, _ := Setup(kubernetes(), o)
	says := func(p plan.Plan) bool {
		return slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, "get secrets") })
	}
	if !says(p) {
		t.Errorf("notes %q", p.Notes)
	}
	o.Certificate = ByServiceCA
	if p, _ := Setup(openShift(), o); says(p) {
		t.Errorf("with the service CA: notes %q", p.Notes)
	}
	p.Steps[0].Changes = p.Steps[0].Changes[:1] // the namespace
	p.Steps = p.Steps[:1]
	p, _ = Undo(applied(kubernetes(), p))
	changes := p.Changes()
	if len(changes) != 1 || changes[0].Object.GetKind() != "Namespace" || !strings.Contains(changes[0].Why, "its Secrets go with it") {
		t.Errorf("%+v", changes)
	}
}

// running sets the status of the deployed server.
func running(s cluster.State, replicas, generation, observed int64) cluster.State {
	d, _ := s.Object("Deployment", Namespace, Name)
	d.Fields["metadata"].(map[string]any)["generation"] = generation
	d.Fields["status"] = map[string]any{
		"observedGeneration": observed, "availableReplicas": replicas, "updatedReplicas": replicas,
	}
	return s
}

func TestAvailable(t *testing.T) {
	p, _ := Setup(kubernetes(), Options{Image: "railhead"})
	for situation, c := range map[string]struct {
		s    cluster.State
		done bool
		text string
	}{
		"not there":         {kubernetes(), false, "0 of 2"},
		"one":               {running(applied(kubernetes(), p), 1, 1, 1), false, "1 of 2"},
		"both":              {running(applied(kubernetes(), p), 2, 1, 1), true, "2 of 2"},
		"both, but the old": {running(applied(kubernetes(), p), 2, 2, 1), false, "0 of 2"},
	} {
		if got := Available(c.s); got.Done != c.done || !strings.Contains(got.Text, c.text) {
			t.Errorf("%s: %+v", situation, got)
		}
	}
	s := applied(kubernetes(), p)
	s.Pods = []cluster.Pod{
		{Namespace: Namespace, Name: "w-1", Phase: "Pending", Containers: []cluster.Container{
			{Name: "webhook", Image: "railhead", Waiting: "ImagePullBackOff", Message: "not found"},
		}},
		{Namespace: "other", Name: "o"},
	}
	if got := Available(s); len(got.Items) != 1 || got.Items[0].Note == "" || got.Stuck == nil && got.Doubt == nil {
		t.Errorf("image: %+v", got)
	}
}

func TestStatus(t *testing.T) {
	with := func(replicas int64, valid time.Duration) cluster.State {
		p, _ := Setup(kubernetes(), Options{Image: "railhead", Cert: certificate(t, valid), Key: []byte("key")})
		return running(applied(kubernetes(), p), replicas, 1, 1)
	}
	const healthy = "2 of 2 replicas are available; its certificate ends on 23 March 2027. Namespaces: train."
	byCA, _ := Setup(openShift(), Options{Image: "railhead"})
	renewing := running(applied(openShift(), byCA), 2, 1, 1)
	halfway := with(2, 2*renewal)
	halfway.Objects = halfway.Objects[1:]
	for situation, c := range map[string]struct {
		s      cluster.State
		status check.Status
		want   string
	}{
		"none":                  {kubernetes(), check.Pass, ""},
		"healthy":               {with(2, 2*renewal), check.Pass, healthy},
		"one replica":           {with(1, 2*renewal), check.Pass, "1 of 2"},
		"no replica":            {with(0, 2*renewal), check.Fail, "0 of 2"},
		"certificate ends soon": {with(2, renewal/2), check.Warn, "renew it with 'railhead setup webhook'"},
		"certificate ended":     {with(2, -time.Hour), check.Fail, "ends on 23 November 2026: renew it"},
		"no certificate":        {with(2, 0), check.Fail, "renew it"},
		"service CA":            {renewing, check.Pass, "2 of 2 replicas are available. Namespaces"},
		"interrupted":           {halfway, check.Fail, "sends it no pods: run 'railhead setup webhook' again"},
	} {
		line, status := Status(c.s)
		if status != c.status || !strings.Contains(line, c.want) || c.want == "" && line != "" {
			t.Errorf("%s: %v, %q", situation, status, line)
		}
	}
}

// TestBundle: what is no certificate has none.
func TestBundle(t *testing.T) {
	for _, text := range []string{"", "no base64!", base64.StdEncoding.EncodeToString([]byte("no PEM"))} {
		o := cluster.Object{Fields: map[string]any{"webhooks": []any{
			map[string]any{"clientConfig": map[string]any{"caBundle": text}},
		}}}
		if end := until(bundle(o)); !end.IsZero() {
			t.Errorf("%q: %v", text, end)
		}
	}
}
