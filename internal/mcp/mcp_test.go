package mcp

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/railhead/railhead/internal/exit"
)

// assistant connects a client to a server that runs commands by run.
func assistant(t *testing.T, run Run) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, "test", run) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil)
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

func text(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	var all []string
	for _, c := range result.Content {
		all = append(all, c.(*mcp.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

// TestReadOnly: no tool changes anything.
func TestReadOnly(t *testing.T) {
	all, err := assistant(t, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%+v", tool)
		}
	}
	want := []string{"doctor", "explain", "explain-check", "inventory", "status", "wire"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestCommandLines(t *testing.T) {
	type input = map[string]any
	for name, c := range map[string]struct {
		tool    string
		input   input
		want    string // the command line
		refused string
	}{
		"inventory":         {"inventory", input{"namespace": "train"}, "inventory -o json --namespace=train", ""},
		"status":            {"status", input{"job": "trainjob/llama"}, "status -o json trainjob/llama", ""},
		"doctor":            {"doctor", input{"subjects": []string{"a"}, "logs": true}, "doctor -o json a --logs", ""},
		"wire":              {"wire", input{"subjects": []string{"pod/a"}, "seconds": 5}, "wire -o json pod/a --every=5s", ""},
		"explain files":     {"explain", input{"files": []string{"a.log", "logs/"}}, "explain -o json a.log logs/", ""},
		"explain a job":     {"explain", input{"job": "a", "namespace": "b"}, "explain -o json a --namespace=b", ""},
		"a check":           {"explain-check", input{"check": "wire-lost"}, "explain-check wire-lost", ""},
		"all checks":        {"explain-check", input{}, "explain-check", ""},
		"a flag":            {"status", input{"job": "--kubeconfig=x"}, "", `"--kubeconfig=x" is not a name`},
		"a node of doctor":  {"doctor", input{"subjects": []string{"a", "Node/b"}}, "", "privileged pod"},
		"a node of wire":    {"wire", input{"subjects": []string{"node/b"}}, "", "privileged pod"},
		"too long":          {"wire", input{"subjects": []string{"a"}, "seconds": 61}, "", "seconds is 61"},
		"standard input":    {"explain", input{"files": []string{"-"}}, "", `"-" is not a name`},
		"files and a job":   {"explain", input{"files": []string{"a"}, "job": "b"}, "", "name files, or a job"},
		"no namespace":      {"explain", input{"job": "b"}, "", "need its namespace"},
		"no job":            {"status", input{}, "", "job"},
		"an unknown option": {"status", input{"job": "a", "force": true}, "", "force"},
	} {
		t.Run(name, func(t *testing.T) {
			ran := ""
			session := assistant(t, func(_ context.Context, args ...string) Result {
				ran = strings.Join(args, " ")
				return Result{Out: "{}"}
			})
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.input})
			said := ""
			switch {
			case err != nil:
				said = err.Error()
			case result.IsError:
				said = text(t, result)
			}
			if ran != c.want || (said != "") != (c.refused != "") || !strings.Contains(said, c.refused) {
				t.Errorf("ran %q, want %q; said %q, want %q", ran, c.want, said, c.refused)
			}
		})
	}
}

// TestAnswers: a fault that a command finds is an answer; a command without output has failed.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		result Result
		fails  bool
		says   []string
	}{
		"healthy":         {Result{"{}", "", exit.OK}, false, []string{"{}", "Exit status 0: no fault"}},
		"a fault":         {Result{"{}", "2 pods\n", exit.Fault}, false, []string{"{}", "2 pods\nExit status 1: a fault"}},
		"unknown":         {Result{"{}", "", exit.Unknown}, false, []string{"not healthy, and not a fault"}},
		"no cluster":      {Result{"", "railhead: no kubeconfig\n", exit.Fault}, true, []string{"railhead: no kubeconfig\nExit"}},
		"a wrong input":   {Result{"\n", "no job\n", exit.Usage}, true, []string{"no job\nExit status 2: the input is wrong"}},
		"it was cut off":  {Result{"", "", exit.Interrupted}, true, []string{"did not end by itself"}},
		"another program": {Result{"{}", "", 7}, false, []string{"did not end by itself"}},
	} {
		session := assistant(t, func(context.Context, ...string) Result { return c.result })
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "inventory"})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(text(t, result), want) {
				t.Errorf("%s: %q is not in %q", name, want, text(t, result))
			}
		}
		if result.IsError != c.fails {
			t.Errorf("%s: failed %t", name, result.IsError)
		}
	}
}
