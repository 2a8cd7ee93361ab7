package apiserver

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	securityv1 "github.com/openshift/api/security/v1"
	"github.com/openshift/apiserver-library-go/pkg/securitycontextconstraints/sccadmission"
	securitylisters "github.com/openshift/client-go/security/listers/security/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	kubeoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

const (
	// constraintPlugin chooses an SCC for every pod or refuses it. It is sccadmission.PluginName.
	constraintPlugin = sccadmission.PluginName
	// execPlugin refuses exec and attach to a pod that the user might not create. The library exports no name for it.
	execPlugin = "security.openshift.io/SCCExecRestrictions"

	// crdPoll is the interval at which the server is asked whether it serves SCCs yet. A reflector on a missing CRD
	// backs off to 30s.
	crdPoll = 200 * time.Millisecond
	resync  = 10 * time.Minute
)

// registerSCC adds OpenShift's plugins where OpenShift has them: just before the mutating webhooks
// (openshift/kubernetes, openshift-kube-apiserver/admission/admissionenablement/register.go).
func registerSCC(ctx context.Context, o *kubeoptions.AdmissionOptions) {
	sccs := &sccInformers{ctx: ctx}
	o.Plugins.Register(constraintPlugin, func(io.Reader) (admission.Interface, error) {
		return constraint{sccadmission.NewConstraint(), sccs}, nil
	})
	o.Plugins.Register(execPlugin, func(io.Reader) (admission.Interface, error) {
		return execRestrictions{sccadmission.NewSCCExecRestrictions(), sccs}, nil
	})
	at := slices.Index(o.RecommendedPluginOrder, mutatingwebhook.PluginName)
	o.RecommendedPluginOrder = slices.Insert(o.RecommendedPluginOrder, at, constraintPlugin, execPlugin)
}

// constraint is the library's plugin, which gets its SCC informer from the dynamic client that every plugin may ask
// upstream's initializers for. OpenShift's fork has an initializer of its own for it.
type constraint struct {
	constraintLibrary
	sccs *sccInformers
}

// constraintLibrary lists the methods of sccadmission's unexported type for constraints.
type constraintLibrary interface {
	admission.MutationInterface
	admission.ValidationInterface
	initializer.WantsAuthorizer
	initializer.WantsExternalKubeInformerFactory
	sccadmission.WantsSecurityInformer
}

// SetDynamicClient implements initializer.WantsDynamicClient.
func (c constraint) SetDynamicClient(client dynamic.Interface) {
	c.SetSecurityInformers(c.sccs.with(client))
}

// execRestrictions is the library's plugin with the same informer.
type execRestrictions struct {
	execLibrary
	sccs *sccInformers
}

// execLibrary lists the methods of sccadmission's unexported type for exec.
type execLibrary interface {
	admission.ValidationInterface
	initializer.WantsAuthorizer
	initializer.WantsExternalKubeClientSet
	initializer.WantsExternalKubeInformerFactory
	sccadmission.WantsSecurityInformer
}

// SetDynamicClient implements initializer.WantsDynamicClient.
func (e execRestrictions) SetDynamicClient(client dynamic.Interface) {
	e.SetSecurityInformers(e.sccs.with(client))
}

var (
	_ initializer.WantsDynamicClient = constraint{}
	_ initializer.WantsDynamicClient = execRestrictions{}
)

// sccInformers makes the one SCC informer that both plugins share.
type sccInformers struct {
	ctx  context.Context // ends when the server is told to stop: an open watch would hold the shutdown up
	once sync.Once
	scc  sccInformer
}

func (s *sccInformers) with(client dynamic.Interface) sccInformer {
	s.once.Do(func() {
		sccs := securityv1.GroupVersion.WithResource("securitycontextconstraints")
		informer := dynamicinformer.NewDynamicSharedInformerFactory(client, resync).ForResource(sccs).Informer()
		if err := informer.SetTransform(typed); err != nil {
			panic(err) // only an informer that already runs refuses
		}
		s.scc = sccInformer{informer}
		go func() {
			_ = wait.PollUntilContextCancel(s.ctx, crdPoll, true, func(ctx context.Context) (bool, error) {
				_, err := client.Resource(sccs).List(ctx, metav1.ListOptions{Limit: 1})
				return err == nil, nil
			})
			informer.Run(s.ctx.Done())
		}()
	})
	return s.scc
}

// typed turns what the dynamic client read into the type that the library's lister returns.
func typed(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	scc := &securityv1.SecurityContextConstraints{}
	return scc, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, scc)
}

// sccInformer implements the interface that client-go's generator would have made for SCCs.
type sccInformer struct{ informer cache.SharedIndexInformer }

// Informer returns the informer.
func (i sccInformer) Informer() cache.SharedIndexInformer { return i.informer }

// Lister returns a lister of what the informer holds.
func (i sccInformer) Lister() securitylisters.SecurityContextConstraintsLister {
	return securitylisters.NewSecurityContextConstraintsLister(i.informer.GetIndexer())
}
