package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/railhead/railhead/internal/cli"
	"github.com/railhead/railhead/internal/podcli"
)

// TestMain lets the test binary be both programs, for the commands of the pictures.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"railhead": func() {
			streams := cli.Terminal(os.Stdin, os.Stdout, os.Stderr)
			os.Exit(cli.Main(context.Background(), "railhead", os.Args[1:], "devel", streams))
		},
		"railhead-pod": func() {
			os.Exit(podcli.Main(os.Args[1:], "devel", podcli.Streams{Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// scenes has the scenes of tools/pictures.
type scenes struct {
	Terminals []struct {
		Name     string
		Columns  int
		Files    map[string]string
		Commands []string
	}
	Pages []struct {
		Name     string
		Files    map[string]string
		Commands []string
	}
}

func readScenes(t *testing.T) scenes {
	t.Helper()
	text, err := os.ReadFile("pictures/scenes.json")
	if err != nil {
		t.Fatal(err)
	}
	var all scenes
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTerminals: the programs still print what the pictures of terminals show.
func TestTerminals(t *testing.T) {
	for _, scene := range readScenes(t).Terminals {
		t.Run(scene.Name, func(t *testing.T) {
			dir := t.TempDir()
			place(t, dir, scene.Files)
			var want []string
			for _, command := range scene.Commands {
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = dir
				output, err := cmd.CombinedOutput()
				if len(output) == 0 {
					t.Fatalf("%s: no output: %v", command, err)
				}
				want = append(want, wrapped("$ "+command+"\n"+string(output), scene.Columns)...)
			}
			if diff := cmp.Diff(want, shown(t, "pictures/"+scene.Name+".svg")); diff != "" {
				t.Errorf("run make pictures (-the program +the picture):\n%s", diff)
			}
		})
	}
}

// TestPicturesPage: the page of the pictures names each of them, what it was made from, and the commands.
func TestPicturesPage(t *testing.T) {
	page := strings.ReplaceAll(read(t, "pictures/README.md"), `\|`, "|")
	files, err := filepath.Glob("pictures/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.NewReplacer("-light.", ".", "-dark.", ".").Replace(filepath.Base(file))
		if name, _, _ = strings.Cut(name, "."); name != "README" && name != "scenes" && !strings.Contains(page, "| "+name+" |") {
			t.Errorf("pictures/README.md does not name %s", name)
		}
	}
	all := readScenes(t)
	for _, scene := range all.Terminals {
		for _, text := range append(sources(scene.Files), scene.Commands...) {
			if !strings.Contains(page, text) {
				t.Errorf("pictures/README.md lacks %s", text)
			}
		}
	}
	for _, scene := range all.Pages {
		for _, text := range append(sources(scene.Files), scene.Commands...) {
			if !strings.Contains(page, text) {
				t.Errorf("pictures/README.md lacks %s", text)
			}
		}
	}
}

// sources are the recordings of a scene.
func sources(files map[string]string) []string {
	var all []string
	for _, source := range files {
		file, _, _ := strings.Cut(source, "#")
		all = append(all, file)
	}
	return all
}

// place writes the files of a scene, as tools/pictures does.
func place(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, source := range files {
		file, section, _ := strings.Cut(source, "#")
		text, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if section != "" {
			_, text, _ = bytes.Cut(text, []byte("\n-- "+section+" --\n"))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// wrapped returns the rows of a terminal that are not empty.
func wrapped(text string, columns int) []string {
	var rows []string
	for line := range strings.Lines(text) {
		for r := []rune(strings.TrimRight(line, "\n")); len(r) > 0; {
			n := min(columns, len(r))
			if row := strings.TrimRight(string(r[:n]), " "); row != "" {
				rows = append(rows, row)
			}
			r = r[n:]
		}
	}
	return rows
}

// shown returns the rows of a picture: the texts in its inner group.
func shown(t *testing.T, file string) []string {
	t.Helper()
	type text struct {
		Text string `xml:",innerxml"`
	}
	var picture struct {
		Rows []text `xml:"g>g>text"`
	}
	if err := xml.Unmarshal([]byte(read(t, file)), &picture); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range picture.Rows {
		rows = append(rows, characters(t, row.Text))
	}
	return rows
}

// characters returns the text of an XML fragment without its elements.
func characters(t *testing.T, fragment string) string {
	t.Helper()
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(fragment)); ; {
		token, err := d.Token()
		if token == nil {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			text.Write(c)
		}
	}
	return text.String()
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
