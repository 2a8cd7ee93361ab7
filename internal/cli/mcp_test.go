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
		ended <- Main(t.Context(), "railhead", []string{"mcp", "--kubeconfig=/nowhere", "--as-group=a", "--as-group=b"}, "test", streams)
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, input map[string]any) (first string, failed bool) {
		t.Helper()
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: input})
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[0].(*sdk.TextContent).Text, result.IsError
	}
	text, failed := call("explain", map[string]any{"files": []string{log}})
	var s story.Story
	if err := json.Unmarshal([]byte(text), &s); err != nil || failed || len(s.Runs) == 0 {
		t.Errorf("%v, failed %t: %s", err, failed, text)
	}
	if text, failed = call("inventory", nil); !failed || !strings.Contains(text, "/nowhere") {
		t.Errorf("failed %t: %s", failed, text)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}
