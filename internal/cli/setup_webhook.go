package cli

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/nccl"
	plans "github.com/railhead/railhead/internal/plan/webhook"
	"github.com/railhead/railhead/internal/report"
	"github.com/railhead/railhead/internal/webhook"
)

// certificateTime is the validity of a certificate of the webhook.
const certificateTime = 2 * 365 * 24 * time.Hour

func newSetupWebhook(a *app) *cobra.Command {
	var o plans.Options
	var flags applyFlags
	policy := "ignore"
	cmd := &cobra.Command{
		Use:   "webhook --image IMAGE",
		Short: "Inject rails into new pods of labelled namespaces, without manifests",
		Long: `setup webhook runs an admission webhook in namespace railhead-system. The API server then sends
it the new pods of namespaces with the label railhead.dev/inject=enabled, and pods with that annotation in other
namespaces. Pods with GPUs get what 'inject' adds, but never a privilege: the nodes must let containers lock memory.
Pods that cannot get rails are created unchanged, with a warning; the value required refuses them.
The webhook adds attachments only: for rails that pods claim from a DRA driver, use 'inject --claims'.
'railhead setup rollback' removes the webhook.`,
		Example: `  railhead setup webhook --image registry.example/railhead:1
  kubectl label namespace train railhead.dev/inject=enabled
  railhead setup status                              replicas, certificate and namespaces`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, s, err := a.read(cmd.Context(), kube.Want{Kinds: plans.Kinds(), Setup: true})
			if err != nil {
				return err
			}
			o.Fail = policy == "fail"
			if o.Cert, o.Key, err = webhook.Issue(plans.Host, s.Taken.Add(certificateTime)); err != nil {
				return exit.Failed(err)
			}
			p, findings := plans.Setup(s, o)
			return applier{
				app: a, client: client, flags: flags,
				want: kube.Want{Namespace: plans.Namespace, Detail: true, Setup: true}, resume: "railhead setup status",
			}.apply(cmd.Context(), p, findings)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Image, "image", "", "`image` that contains /railhead")
	f.StringVar(&o.PodImage, "pod-image", "",
		"`image` that contains /railhead-pod (default: the ConfigMaps of 'setup namespace' in each namespace)")
	choiceFlag(cmd, &o.Mode, "mode", "", "rdma: pods need rails; auto: without rails they use TCP",
		string(nccl.RDMA), string(nccl.Auto))
	choiceFlag(cmd, &policy, "failure-policy", "",
		"pods while the webhook does not answer: ignore creates them without rails; fail refuses them",
		"ignore", "fail")
	choiceFlag(cmd, &o.Certificate, "certificate", "",
		"who issues the certificate: OpenShift's service CA, which renews it, or railhead "+
			"(default: service-ca on OpenShift)",
		plans.ByServiceCA, plans.ByRailhead)
	_ = cmd.MarkFlagRequired("image") // the flag exists
	flags.add(cmd, 5*time.Minute)
	return cmd
}

// webhookStatus prints the state of the webhook. It returns a fault if it does not answer.
func (a *app) webhookStatus(s cluster.State) error {
	if p := s.Problem(cluster.Webhooks); p != nil {
		return unknown(errors.New("whether there is a webhook could not be read: " + p.Err))
	}
	return a.componentStatus(plans.Status(s))
}

// componentStatus prints a line, unless it is empty. It returns a fault if the component fails.
func (s Streams) componentStatus(line string, status check.Status) error {
	if line != "" {
		report.Line(s.Out, "%s", line)
	}
	if status == check.Fail {
		return exit.Error{Code: exit.Fault}
	}
	return nil
}
