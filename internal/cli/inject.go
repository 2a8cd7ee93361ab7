package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/exit"
	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/plan/job"
	"github.com/railhead/railhead/internal/plan/manifests"
	"github.com/railhead/railhead/internal/words"
	"github.com/railhead/railhead/internal/workload"
)

func newInject(a *app) *cobra.Command {
	var j jobFlags
	var files []string
	cmd := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Add rails, /dev/shm and railhead-pod to a manifest of your own",
		Long: `inject adds to the pods of a manifest what deploy gives its own pods. It prints the manifest,
and first the ConfigMaps that carry railhead-pod if the namespace lacks them ('railhead setup namespace' creates them).
It changes nothing in the cluster. Settings of the manifest are kept, and so are its comments and its order: a flag that
contradicts them is refused, and only -e replaces variables. Injecting twice with the same flags has no further effect.
A manifest that names a namespace gets the rails of that namespace.
railhead-pod starts the command of the containers that train. Where it cannot, because the manifest has no command, or
Ray or sshd starts the processes, an init container writes /etc/nccl.conf; --wrap chooses.
If some pods of FILE request GPUs, its other pods stay as they are, such as the head of a Ray cluster, the launcher of
an MPIJob or the dashboard of a chart; --container adds rails to all pods with a container of that name.

Exit status of --check: 0 if the pods have everything inject added; 1 if a controller or webhook dropped something; 3
if no pod runs, or the pods could not be read.

Kinds: ` + kindLines() + `;
any other with --template-path.`,
		Example: `  railhead inject -f job.yaml -n train | kubectl apply -n train -f -
  kubectl create job x --image IMAGE --dry-run=client -o yaml -- torchrun train.py | railhead inject -f -
  railhead inject -f job.yaml --claims                        rails by claims of a DRA driver
  railhead inject --check -f job.yaml                         did all of it reach the pods?
  railhead inject -f train.yaml --template-path spec.worker.template     a kind that railhead does not know`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := oneFile(files)
			if err != nil {
				return err
			}
			i, err := a.inject(cmd, &j, file)
			switch {
			case err != nil:
				return err
			case j.compare:
				return a.checkInjected(cmd.Context(), i)
			}
			return a.writeInjected(i)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "manifest `file`; - for standard input")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	j.addManifest(cmd)
	return cmd
}

// addManifest adds the flags of inject.
func (j *jobFlags) addManifest(cmd *cobra.Command) {
	cmd.Flags().StringVar(&j.Container, "container", "",
		"`name` of the container that trains, in all pods that have it (default: the one with GPUs, or the first)")
	cmd.Flags().StringArrayVar(&j.TemplatePaths, "template-path", nil,
		"`path` of the pod template in objects of other kinds, such as spec.template or "+
			`spec.groups[].template; \. is a dot in a name; repeatable`)
	cmd.Flags().BoolVar(&j.compare, "check", false,
		"write nothing; compare what runs with what inject would write, and show what a controller dropped")
	choiceFlag(cmd, &j.Wrap, "wrap", "",
		"auto: railhead-pod starts the command where it can, else an init container writes /etc/nccl.conf; "+
			"always: refuse where it cannot; never: files only",
		job.WrapAuto, job.WrapAlways, job.WrapNever)
	j.add(cmd)
	cmd.Flags().Lookup("service-account").Usage = "service `account` of the pods (default: that of the manifest)"
	cmd.Flags().Lookup("gpus").Usage = "`number` of GPUs of each pod (default: that of the manifest)"
	cmd.Flags().Lookup("env").Usage = "variable of the pods, `NAME=VALUE`, replacing one of the manifest; repeatable"
}

// oneFile returns the value of -f, which pflag would otherwise take from the last of several.
func oneFile(files []string) (string, error) {
	switch {
	case len(files) == 0 || files[0] == "":
		return "", errors.New("name a manifest with -f FILE, or use -f - to read standard input: " +
			"kubectl kustomize . | railhead inject -f -")
	case len(files) > 1:
		return "", fmt.Errorf("-f names %d files: inject takes one at a time", len(files))
	case strings.Contains(files[0], "://"):
		return "", fmt.Errorf("-f takes a file, not a URL: curl -fsSL %s | railhead inject -f -", files[0])
	}
	return files[0], nil
}

// kindLines lists the kinds with pod templates, in lines that a terminal shows.
func kindLines() string {
	var rows []string
	for row := range slices.Chunk(workload.WithTemplates(), 7) {
		rows = append(rows, strings.Join(row, ", "))
	}
	return strings.Join(rows, ",\n")
}

// injection is the result of inject.
type injection struct {
	compare   bool // with what runs
	client    *kube.Client
	options   job.Options
	text      []byte         // of the file
	before    manifests.List // in the file
	manifests manifests.List // as they were, with rails
	added     manifests.List // what their pods need
	notes     []string       // choices and their reasons
}

func (a *app) inject(cmd *cobra.Command, j *jobFlags, file string) (i injection, err error) {
	i.compare = j.compare
	if i.options, err = j.options(cmd, nil); err != nil {
		return i, wrongInput(err)
	}
	if i.text, i.before, err = a.readManifests(file, &i.options); err != nil {
		return i, err
	}
	states, err := a.readForInject(cmd.Context(), &i)
	switch {
	case err != nil && j.compare:
		return i, unknown(err)
	case err != nil:
		return i, err
	}
	return a.injected(i, states)
}

// readForInject reads the cluster for the namespaces of the manifests.
func (a *app) readForInject(ctx context.Context, i *injection) (states map[string]cluster.State, err error) {
	if i.client, _, err = a.connect(ctx); err != nil {
		return nil, err
	}
	states = map[string]cluster.State{}
	for _, ns := range i.options.Namespaces(i.before) {
		there := i.options
		there.Namespace = ns
		if states[ns], err = readForJob(ctx, i.client, there); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// injected adds the rails to the manifests, and shows the findings.
func (a *app) injected(i injection, states map[string]cluster.State) (injection, error) {
	out, draft := job.InjectAll(i.before, states, i.options)
	n := len(out) - len(i.before)
	i.added, i.manifests, i.notes = out[:n], out[n:], draft.Notes
	switch {
	case !i.compare:
		return i, a.refuse(draft.Findings)
	case check.Worst(draft.Findings) == check.Fail:
		a.showFindings(draft.Findings...)
		return i, unknown(errors.New("nothing was compared"))
	}
	return i, nil // the warnings were shown when the manifest was injected
}

// writeInjected writes the added objects and the edited manifest. ConfigMaps among the added objects are parts of
// railhead-pod: a note says how to keep them out of the output.
func (a *app) writeInjected(i injection) error {
	a.showNotes(i.notes)
	text, rewritten := manifests.Edit(i.text, i.before, i.manifests)
	if len(rewritten) > 0 {
		a.showNotes([]string{"Written anew, without comments and in another order, because the text has a form that " +
			"railhead cannot edit: " + words.Few(rewritten.Names(), 5) + "."})
	}
	for _, object := range i.added {
		if err := writeManifest(a.Out, object.Object); err != nil {
			return err
		}
	}
	if len(i.added) > 0 && !bytes.HasPrefix(text, []byte("---")) {
		text = append([]byte("---\n"), text...)
	}
	if _, err := a.Out.Write(text); err != nil {
		return err
	}
	parts, namespace := 0, ""
	for _, object := range i.added {
		if object.GetKind() == "ConfigMap" {
			parts, namespace = parts+1, object.GetNamespace()
		}
	}
	a.noteParts(parts, namespace)
	return nil
}

// readManifests reads the file and sets the namespace of objects without one.
func (a *app) readManifests(file string, o *job.Options) ([]byte, manifests.List, error) {
	read := os.ReadFile
	if file == "-" {
		read = func(string) ([]byte, error) { return io.ReadAll(a.In) }
	}
	text, err := read(file)
	if err != nil {
		return nil, nil, unknown(fmt.Errorf("-f: %w", err))
	}
	objects, err := manifests.Read(text)
	if err != nil {
		return nil, nil, unknown(fmt.Errorf("-f %s: %w", file, err))
	}
	var explicit bool
	if o.Namespace, explicit, err = a.flags.Namespace(); err != nil {
		return nil, nil, exit.Failed(err)
	}
	if explicit {
		if err := objects.In(o.Namespace); err != nil {
			return nil, nil, usage(fmt.Errorf("-f %s: %w", file, err))
		}
	}
	return text, objects, nil
}
