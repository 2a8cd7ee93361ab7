// Package mcp offers the commands of railhead that change nothing to assistants, as tools of the Model Context Protocol
// (https://modelcontextprotocol.io).
package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/railhead/railhead/internal/exit"
)

// Run runs a command line of railhead.
type Run func(ctx context.Context, args ...string) Result

// Result is what a command line printed, and how it ended.
type Result struct {
	Out, Err string
	Code     exit.Code
}

// Serve answers the messages of an assistant until it closes the transport.
func Serve(ctx context.Context, transport mcp.Transport, version string, run Run) error {
	return newServer(version, run).Run(ctx, transport)
}

func newServer(version string, run Run) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "railhead", Title: "Railhead", Version: version},
		&mcp.ServerOptions{Instructions: instructions})
	for _, add := range tools {
		add(s, run)
	}
	return s
}

// tool returns what adds a tool. Its input makes the command line, or refuses.
func tool[In interface{ args() ([]string, error) }](name, title, description string) func(*mcp.Server, Run) {
	closed := false
	t := &mcp.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}
	return func(s *mcp.Server, run Run) {
		mcp.AddTool(s, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			args, err := in.args()
			if err != nil {
				return nil, nil, err
			}
			return answer(run(ctx, args...)), nil, nil
		})
	}
}

// answer returns the output of a command, and its messages with the meaning of the exit code. Only a command without
// output has failed: a fault that it found is its answer.
func answer(r Result) *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: strings.TrimSpace(r.Out) == ""}
	if !result.IsError {
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
