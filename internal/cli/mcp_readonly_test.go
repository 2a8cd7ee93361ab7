package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/railhead/railhead/internal/kube"
	"github.com/railhead/railhead/internal/mcp"
	"github.com/railhead/railhead/internal/workload"
)

// reading are the commands that tools run, with the flags that a tool may set. A command or flag that creates, changes
// or writes anything must not be here: doctor --nodes, --save, --measure and wire --save among them.
var reading = map[string][]string{
	"inventory":     {"output", "namespace"},
	"status":        {"output", "namespace"},
	"doctor":        {"output", "namespace", "logs"},
	"wire":          {"output", "namespace", "every"},
	"explain":       {"output", "namespace"},
	"explain-check": {},
}

// hostile are inputs that would be flags, nodes, or other words of a command line if something split or parsed them.
var hostile = []string{
	"--nodes", "--save=/tmp/x", "--save", "-f", "-w", "--watch", "--measure", "--force", "--from=/tmp/x", "--with=/etc/passwd",
	"--kubeconfig=/tmp/x", "--as=admin", "--probe-image=x", "--pod-binary=amd64=x", "-o=yaml", "-n", "--", "-",
	"a --nodes", "a\n--nodes", "a\x00--nodes", "a,--nodes", `a" --nodes "`, "$(reboot)", "; reboot", "=--nodes",
	"node/x", "nodes/x", "no/x", "NODE/x", "No/x", "node/", "pod/node/x", "pod/--nodes", "job/--nodes", "deploy", "delete",
}

// TestMCPReadOnly: whatever an assistant puts into the inputs of the tools, only reading commands run, with flags that
// only read. The inputs are those that the tools declare, so that a new tool or input is tried, too.
func TestMCPReadOnly(t *testing.T) {
	var lines [][]string
	session := assistantOf(t, func(args []string) { lines = append(lines, args) })
	all, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Tools) != len(reading) {
		t.Errorf("%d tools", len(all.Tools))
	}
	for _, tool := range all.Tools {
		schema := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		valid := validInput(properties, schema["required"])
		call(t, session, tool.Name, valid)
		for name, property := range properties {
			for _, text := range hostile {
				input := map[string]any{}
				for k, v := range valid {
					input[k] = v
				}
				if input[name] = text; isList(property) {
					input[name] = []string{"a", text}
				}
				call(t, session, tool.Name, input)
			}
		}
	}
	if len(lines) < 2*len(hostile) {
		t.Errorf("only %d command lines", len(lines))
	}
	for _, line := range lines {
		onlyReads(t, line)
	}
	for _, command := range []string{"setup", "deploy", "inject", "launch", "delete", "restart", "bench", "report", "webhook"} {
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: command}); err == nil {
			t.Errorf("there is a tool %s", command)
		}
	}
}

// assistantOf connects an assistant to the tools of railhead, whose command lines go to ran.
func assistantOf(t *testing.T, ran func(args []string)) *sdk.ClientSession {
	t.Helper()
	program := (&app{flags: &kube.Flags{}}).forAssistants(pflag.NewFlagSet("", pflag.ContinueOnError))
	program.CheckLog = func(string) error { return nil }
	program.Run = func(_ context.Context, args ...string) mcp.Result {
		ran(args)
		return mcp.Result{Out: "{}"}
	}
	near, far := sdk.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- mcp.Serve(t.Context(), far, program) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		<-served
	})
	return session
}

func call(t *testing.T, session *sdk.ClientSession, tool string, input map[string]any) {
	t.Helper()
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: input}); err != nil {
		t.Fatalf("%s %v: %v", tool, input, err)
	}
}

// isList reports whether a property takes a list.
func isList(property any) bool {
	kind := property.(map[string]any)["type"]
	several, _ := kind.([]any)
	return kind == "array" || slices.Contains(several, "array")
}

// validInput has a value for every required property.
func validInput(properties map[string]any, required any) map[string]any {
	input := map[string]any{}
	names, _ := required.([]any)
	for _, name := range names {
		input[name.(string)] = "a"
		if isList(properties[name.(string)]) {
			input[name.(string)] = []string{"a"}
		}
	}
	return input
}

// onlyReads parses a command line as Main does.
func onlyReads(t *testing.T, line []string) {
	t.Helper()
	command, args, err := (&app{flags: &kube.Flags{}}).root("railhead").Find(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	flags, known := reading[command.Name()]
	if !known || command.Parent() == nil || command.Parent().HasParent() {
		t.Fatalf("%q runs %s", line, command.CommandPath())
	}
	if err := command.ParseFlags(args); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	command.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(flags, f.Name) {
			t.Errorf("%q sets --%s", line, f.Name)
		}
	})
	noNodes(t, command, command.Flags().Args())
}

// noNodes: only a privileged pod examines a node.
func noNodes(t *testing.T, command *cobra.Command, args []string) {
	t.Helper()
	if name := command.Name(); name != "doctor" && name != "wire" {
		return
	}
	for _, arg := range args {
		var s workload.Subject
		if err := addSubject(&s, arg); err == nil && len(s.Nodes) > 0 {
			t.Errorf("%s examines a node: %s", command.Name(), strings.Join(args, " "))
		}
	}
}
