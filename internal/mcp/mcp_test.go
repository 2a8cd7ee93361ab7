package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/railhead/railhead/internal/exit"
)

type runner = func(context.Context, ...string) Result

// program runs commands by run. They print objects, except explain-check.
func program(run runner) Program {
	return Program{
		Version: "test",
		Run:     run,
		Schema: func(command string) json.RawMessage {
			if command == "explain-check" {
				return nil
			}
			return json.RawMessage(`{"type": "object"}`)
		},
		CheckLog: func(name string) error {
			if name == "/dev/zero" {
				return errors.New("no file")
			}
			return nil
		},
	}
}

// assistant connects a client to a server of a program.
func assistant(t *testing.T, p Program) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), far, p) }()
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
	all, err := assistant(t, program(nil)).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
		structured := tool.OutputSchema != nil
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" || structured != (tool.Name != "explain-check") {
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
		"inventory":         {"inventory", input{"namespace": "train"}, "inventory --output=json --namespace=train", ""},
		"status":            {"status", input{"job": "trainjob/llama"}, "status --output=json -- trainjob/llama", ""},
		"doctor":            {"doctor", input{"subjects": []string{"a"}, "logs": true}, "doctor --logs --output=json -- a", ""},
		"wire":              {"wire", input{"subjects": []string{"pod/a"}, "seconds": 5}, "wire --every=5s --output=json -- pod/a", ""},
		"explain files":     {"explain", input{"files": []string{"a.log", "logs/"}}, "explain --output=json -- a.log logs/", ""},
		"explain a job":     {"explain", input{"job": "a", "namespace": "b"}, "explain --output=json --namespace=b -- a", ""},
		"a check":           {"explain-check", input{"check": "wire-lost"}, "explain-check -- wire-lost", ""},
		"all checks":        {"explain-check", input{}, "explain-check", ""},
		"a flag":            {"status", input{"job": "--kubeconfig=x"}, "", `"--kubeconfig=x" is not a name`},
		"a node of doctor":  {"doctor", input{"subjects": []string{"a", "Node/b"}}, "", "privileged pod"},
		"a node of wire":    {"wire", input{"subjects": []string{"node/b"}}, "", "privileged pod"},
		"a node, short":     {"wire", input{"subjects": []string{"no/b"}}, "", "privileged pod"},
		"a flag of a check": {"explain-check", input{"check": "-h"}, "", `"-h" is not a name`},
		"a device":          {"explain", input{"files": []string{"/dev/zero"}}, "", "no file"},
		"a wrong type":      {"status", input{"job": []string{"a"}}, "", "job"},
		"too long":          {"wire", input{"subjects": []string{"a"}, "seconds": 61}, "", "seconds is 61"},
		"standard input":    {"explain", input{"files": []string{"-"}}, "", `"-" is not a name`},
		"files and a job":   {"explain", input{"files": []string{"a"}, "job": "b"}, "", "name files, or a job"},
		"no namespace":      {"explain", input{"job": "b"}, "", "need its namespace"},
		"no job":            {"status", input{}, "", "job"},
		"an unknown option": {"status", input{"job": "a", "force": true}, "", "force"},
	} {
		t.Run(name, func(t *testing.T) {
			ran := ""
			session := assistant(t, program(func(_ context.Context, args ...string) Result {
				ran = strings.Join(args, " ")
				return Result{Out: "{}"}
			}))
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
		"cut JSON":        {Result{"{", "", exit.Interrupted}, true, []string{"did not end by itself"}},
	} {
		session := assistant(t, program(func(context.Context, ...string) Result { return c.result }))
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "inventory"})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(text(t, result), want) {
				t.Errorf("%s: %q is not in %q", name, want, text(t, result))
			}
		}
		if result.IsError != c.fails || (result.StructuredContent == nil) != c.fails {
			t.Errorf("%s: failed %t, structured: %v", name, result.IsError, result.StructuredContent)
		}
	}
}

// TestNamespace: the namespace of the command line is that of jobs without one, and files have none.
func TestNamespace(t *testing.T) {
	for _, c := range []struct {
		tool  string
		input map[string]any
		want  string
	}{
		{"status", map[string]any{"job": "a"}, "status --output=json --namespace=train -- a"},
		{"status", map[string]any{"job": "a", "namespace": "b"}, "status --output=json --namespace=b -- a"},
		{"explain", map[string]any{"job": "a"}, "explain --output=json --namespace=train -- a"},
		{"explain", map[string]any{"files": []string{"a.log"}}, "explain --output=json -- a.log"},
	} {
		ran := ""
		p := program(func(_ context.Context, args ...string) Result {
			ran = strings.Join(args, " ")
			return Result{Out: "{}"}
		})
		p.Namespace = "train"
		params := &mcp.CallToolParams{Name: c.tool, Arguments: c.input}
		if _, err := assistant(t, p).CallTool(t.Context(), params); err != nil || ran != c.want {
			t.Errorf("%v: ran %q, want %q", err, ran, c.want)
		}
	}
}
