package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/railhead/railhead/internal/schematest"
	"github.com/railhead/railhead/internal/story"
)

// TestMCP: an assistant that starts `railhead mcp` gets the story of a log, and no cluster where there is none.
func TestMCP(t *testing.T) {
	archive, err := txtar.ParseFile("../../testdata/logs/healthy-scary-words.txtar")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(log, archive.Files[0].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		streams := Streams{In: in, Out: out, Err: io.Discard}
		ended <- Main(t.Context(), "railhead", []string{"mcp", "--kubeconfig=/nowhere", "-n", "train", "--as-group=a", "--as-group=b"}, "test", streams)
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, input map[string]any) (first string, structured any, failed bool) {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: input})
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[0].(*sdk.TextContent).Text, result.StructuredContent, result.IsError
	}
	text, structured, failed := call("explain", map[string]any{"files": []string{log}})
	var s story.Story
	if err := json.Unmarshal([]byte(text), &s); err != nil || failed || len(s.Runs) == 0 {
		t.Errorf("%v, failed %t: %s", err, failed, text)
	}
	schematest.Open(t, "railhead-explain").HoldsValue(t, "the structured answer", structured)
	for _, c := range []struct {
		tool  string
		input map[string]any
		says  string
	}{
		{"inventory", nil, "/nowhere"},
		{"explain", map[string]any{"files": []string{os.DevNull}}, "neither a file nor a folder"},
		{"explain", map[string]any{"files": []string{"none.log"}}, "no such file"},
		{"explain-check", map[string]any{"check": "memlok-limit"}, "did you mean memlock-limit?"},
	} {
		if text, _, failed = call(c.tool, c.input); !failed || !strings.Contains(text, c.says) {
			t.Errorf("%s %v: failed %t: %s", c.tool, c.input, failed, text)
		}
	}
	if text, structured, failed = call("explain-check", nil); failed || structured != nil ||
		!strings.Contains(text, "memlock-limit") {
		t.Errorf("failed %t: %s", failed, text)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}
