package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scenes is docs/pictures/scenes.json, which the test of docs/pictures reads as well.
type scenes struct {
	Terminals []terminal `json:"terminals"`
	Pages     []page     `json:"pages"`
}

// terminal is a picture of commands that are typed one after the other.
type terminal struct {
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Columns  int               `json:"columns"`
	Rows     int               `json:"rows"`   // most rows to show, 0: all. The last ones stay
	Played   bool              `json:"played"` // the picture moves, once
	Live     bool              `json:"-"`      // run in the repository, shown at the speed of the commands
	Files    map[string]string `json:"files"`  // files of the commands, the source of each by its name
	Commands []string          `json:"commands"`
}

// page is a picture of sections of a page that a command writes to page.html.
type page struct {
	Name     string            `json:"name"`
	Files    map[string]string `json:"files"`
	Commands []string          `json:"commands"`
	Sections []string          `json:"sections"` // their ids
}

func readScenes(file string) (scenes, error) {
	var all scenes
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

// write makes the pictures that are wanted, and counts them.
func (all scenes) write(ctx context.Context, wanted func(name string) bool) (made int, err error) {
	for _, t := range all.Terminals {
		if !wanted(t.Name) {
			continue
		}
		if err := t.write(ctx); err != nil {
			return made, fmt.Errorf("%s: %w", t.Name, err)
		}
		made++
	}
	for _, p := range all.Pages {
		if !wanted(p.Name) {
			continue
		}
		if err := p.write(ctx); err != nil {
			return made, fmt.Errorf("%s: %w", p.Name, err)
		}
		made++
	}
	return made, nil
}

// store writes a picture.
func store(name string, picture []byte) error {
	fmt.Printf("docs/pictures/%s  %d KB\n", name, (len(picture)+1023)/1024)
	return os.WriteFile(filepath.Join(folder, name), picture, 0o644)
}

// write records the commands and draws their terminal.
func (t terminal) write(ctx context.Context) error {
	dir, done, err := t.place()
	if err != nil {
		return err
	}
	defer done()
	s := newScreen(t.Columns)
	for _, command := range t.Commands {
		if err := t.play(ctx, s, dir, command); err != nil {
			return err
		}
	}
	text, err := t.draw(s)
	if err != nil {
		return err
	}
	return store(t.Name+".svg", text)
}

// place returns the folder in which the commands run.
func (t terminal) place() (dir string, done func(), err error) {
	if t.Live {
		return root, func() {}, nil
	}
	return place(t.Files)
}

// place makes a folder with the files of a scene.
func place(files map[string]string) (dir string, done func(), err error) {
	dir, err = os.MkdirTemp("", "pictures")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	for name, source := range files {
		text, err := recorded(source)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			done()
			return "", nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	return dir, done, nil
}

// recorded returns a source: FILE, or FILE#SECTION for the last section of a txtar file.
func recorded(source string) ([]byte, error) {
	file, section, cut := strings.Cut(source, "#")
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil || !cut {
		return text, err
	}
	_, text, found := bytes.Cut(text, []byte("\n-- "+section+" --\n"))
	if !found || bytes.Contains(text, []byte("\n-- ")) {
		return nil, fmt.Errorf("%s is not its last section", section)
	}
	return text, nil
}
