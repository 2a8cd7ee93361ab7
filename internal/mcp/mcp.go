// Package mcp offers the commands of railhead that change nothing to assistants, as tools of the Model Context Protocol
// (https://modelcontextprotocol.io).
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/railhead/railhead/internal/exit"
)

// Program runs the commands of railhead for the tools.
type Program struct {
	Version   string
	Namespace string // if an input names none; "": the kubeconfig has it
	// Run runs a command line.
	Run func(ctx context.Context, args ...string) Result
	// Schema returns the JSON schema of a command's output; nil: its output is text.
	Schema func(command string) json.RawMessage
	// CheckLog returns why a file or folder is no log.
	CheckLog func(name string) error
}

// Result has the output of a command line, and how it ended.
type Result struct {
	Out, Err string
	Code     exit.Code
}

// Serve answers the messages of an assistant until it closes the transport.
func Serve(ctx context.Context, transport mcp.Transport, p Program) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "railhead", Title: "Railhead", Version: p.Version},
		&mcp.ServerOptions{Instructions: instructions})
	for _, add := range tools {
		add(s, p)
	}
	return s.Run(ctx, transport)
}

// tool returns a function that adds a tool. Its input makes the command line, or refuses.
func tool[In interface {
	args(p Program) ([]string, error)
}](name, title, description string) func(*mcp.Server, Program) {
	return func(s *mcp.Server, p Program) {
		closed := false
		t := &mcp.Tool{
			Name: name, Title: title, Description: description,
			Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: &closed},
		}
		schema := p.Schema(name)
		if schema != nil {
			t.OutputSchema = schema
		}
		mcp.AddTool(s, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			args, err := in.args(p)
			if err != nil {
				return nil, nil, err
			}
			return answer(p.Run(ctx, args...), schema != nil), nil, nil
		})
	}
}

// answer returns the output of a command, and its messages with the meaning of the exit code. Only a command without
// output has failed: a fault that it found is its answer. Assistants that do not know structured content read the text.
func answer(r Result, structured bool) *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: strings.TrimSpace(r.Out) == ""}
	if structured {
		var compact bytes.Buffer // without the spaces, a third of the text
		if result.IsError = json.Compact(&compact, []byte(r.Out)) != nil; !result.IsError {
			r.Out = compact.String()
			result.StructuredContent = json.RawMessage(r.Out)
		}
	}
	if r.Out != "" && !result.IsError {
		result.Content = append(result.Content, &mcp.TextContent{Text: r.Out})
	}
	ending := fmt.Sprintf("Exit status %d: %s", r.Code, meaning(r.Code))
	messages := strings.TrimSpace(strings.TrimSpace(r.Err) + "\n" + ending)
	result.Content = append(result.Content, &mcp.TextContent{Text: messages})
	return result
}

func meaning(code exit.Code) string {
	switch code {
	case exit.OK:
		return "no fault was found."
	case exit.Fault:
		return "a fault was found, or the command failed."
	case exit.Usage:
		return "the input is wrong."
	case exit.Unknown:
		return "something that matters could not be read: this is not healthy, and not a fault."
	}
	return "the command did not end by itself."
}
