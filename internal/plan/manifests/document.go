package manifests

import (
	"bytes"
	"errors"
	"io"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Edit changes the text of manifests to match the changed manifests, and keeps comments, order and all other bytes.
// before has the objects of the text in their order, and after[i] is before[i] with its changes. If a document has a
// form that cannot be edited, Edit writes it anew, and also returns its objects. If the text cannot be parsed, or has
// more or fewer objects than the lists, it writes all of after anew.
func Edit(text []byte, before, after List) (edited []byte, rewritten List) {
	at := 0
	for _, part := range split(string(text)) {
		d, err := parse(part)
		n := len(d.objects)
		if err != nil || n > min(len(before), len(after))-at {
			return after.text(), after
		}
		objects := after[at : at+n]
		if changed, ok := d.edit(before[at:at+n], objects); ok {
			edited = append(edited, changed...)
		} else {
			edited = append(edited, d.anew(objects)...)
			rewritten = append(rewritten, objects...)
		}
		at += n
	}
	if at < len(after) {
		return after.text(), after
	}
	return edited, rewritten
}

// split returns the documents of a text, each with the line before it that separates it from others.
func split(text string) []string {
	var documents []string
	begin, at := 0, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "---") && at > begin {
			documents = append(documents, text[begin:at])
			begin = at
		}
		at += len(line)
	}
	return append(documents, text[begin:])
}

// document is the text of a document with its objects. The objects of a List are its items.
type document struct {
	lines   []string
	root    *yamlv3.Node
	objects []*yamlv3.Node
}

func parse(text string) (document, error) {
	d := document{lines: strings.SplitAfter(text, "\n")}
	var parsed yamlv3.Node
	decoder := yamlv3.NewDecoder(strings.NewReader(text))
	switch err := decoder.Decode(&parsed); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return d, err
	}
	if err := decoder.Decode(&yamlv3.Node{}); !errors.Is(err, io.EOF) {
		return d, errForm
	}
	d.root = parsed.Content[0]
	var fields struct {
		Kind  string        `yaml:"kind"`
		Items []yamlv3.Node `yaml:"items"`
	}
	switch err := d.root.Decode(&fields); {
	case err != nil:
		return d, err
	case strings.HasSuffix(fields.Kind, "List") && len(fields.Items) > 0:
		for i := range fields.Items {
			d.objects = append(d.objects, &fields.Items[i])
		}
	case len(d.root.Content) > 0:
		d.objects = []*yamlv3.Node{d.root}
	}
	return d, nil
}

// edit returns the text with changed objects; ok is false where it has forms that cannot be edited.
func (d document) edit(before, after List) (edited []byte, ok bool) {
	if same(before, after) {
		return []byte(strings.Join(d.lines, "")), true
	}
	// if all uses of an anchor change alike, only the anchor changes
	for _, anchors := range []anchorEdit{shared, expanded} {
		e := editor{lines: d.lines, anchors: anchors, moved: map[*yamlv3.Node]bool{}}
		if edited, ok = e.editAll(d.objects, before, after); ok {
			break
		}
	}
	return edited, ok
}

func (e *editor) editAll(nodes []*yamlv3.Node, before, after List) (edited []byte, ok bool) {
	for i, node := range nodes {
		if e.edit(node, before[i].Object, after[i].Object) != nil {
			return nil, false
		}
	}
	edited = e.apply()
	got, err := Read(edited)
	return edited, err == nil && same(got, after)
}

// anew returns the document with its objects as they are written without a text, below the lines before it.
func (d document) anew(objects List) []byte {
	head := strings.Join(d.lines[:d.root.Line-1], "")
	text := string(objects.text())
	if strings.HasPrefix(head, "---") {
		text = strings.TrimPrefix(text, "---\n")
	}
	if strings.HasSuffix(d.lines[0], "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(head + text)
}

// text returns documents with the objects.
func (all List) text() []byte {
	var b bytes.Buffer
	for _, object := range all {
		text, _ := yaml.Marshal(object.Object) // of a manifest
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes()
}
