package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Edit changes the text of manifests to that of changed ones, and keeps comments, order and all other bytes. ok is
// false where the text has forms that it cannot edit: the objects must then be written anew.
func Edit(text []byte, before, after List) (edited []byte, ok bool) {
	nodes, err := objectNodes(text)
	if err != nil || len(nodes) != len(before) || len(before) != len(after) {
		return nil, false
	}
	// if all uses of an anchor change alike, only the anchor changes
	for _, anchors := range []anchorEdit{inPlace, written} {
		e := editor{lines: strings.SplitAfter(string(text), "\n"), anchors: anchors}
		if edited, ok = e.editAll(nodes, before, after); ok {
			break
		}
	}
	return edited, ok
}

// anchorEdit says what becomes of a value with an anchor, and of its aliases, if the value changes.
type anchorEdit int

const (
	inPlace anchorEdit = iota // the value changes where it has the anchor; its aliases stay
	written                   // the value is written anew at each place where it changes
)

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

// objectNodes returns the objects of the documents, and the items of a List.
func objectNodes(text []byte) ([]*yamlv3.Node, error) {
	var all []*yamlv3.Node
	for decoder := yamlv3.NewDecoder(bytes.NewReader(text)); ; {
		var document yamlv3.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		root := document.Content[0]
		var fields struct {
			Kind  string        `yaml:"kind"`
			Items []yamlv3.Node `yaml:"items"`
		}
		switch err := root.Decode(&fields); {
		case err != nil:
			return nil, err
		case strings.HasSuffix(fields.Kind, "List") && len(fields.Items) > 0:
			for i := range fields.Items {
				all = append(all, &fields.Items[i])
			}
		case len(root.Content) > 0:
			all = append(all, root)
		}
	}
}

// editor collects changes of a text.
type editor struct {
	lines   []string
	anchors anchorEdit
	changes []change
}

// change replaces the bytes from at to end.
type change struct {
	at, end int
	text    string
}

var errForm = errors.New("a form that cannot be edited")

func (e *editor) edit(node *yamlv3.Node, have, want any) error {
	if same(have, want) {
		return nil
	}
	switch alias := node.Kind == yamlv3.AliasNode; {
	case alias && e.anchors == inPlace:
		return nil
	case alias, node.Anchor != "" && e.anchors == written:
		return errForm
	}
	oldMap, isMap := have.(map[string]any)
	newMap, staysMap := want.(map[string]any)
	oldList, isList := have.([]any)
	newList, staysList := want.([]any)
	switch {
	case isMap && staysMap && node.Kind == yamlv3.MappingNode:
		return e.editMap(node, oldMap, newMap)
	case isList && staysList && node.Kind == yamlv3.SequenceNode:
		return e.editList(node, oldList, newList)
	}
	return errForm
}

func (e *editor) editMap(node *yamlv3.Node, have, want map[string]any) error {
	flow := node.Style&yamlv3.FlowStyle != 0
	added := maps.Clone(want)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		delete(added, key.Value)
		known := len(e.changes)
		err := e.edit(value, have[key.Value], want[key.Value])
		if err == nil && !flow && e.unreadable(value, e.changes[known:]) {
			err = errForm
		}
		if err != nil {
			e.changes = e.changes[:known]
			if _, kept := want[key.Value]; flow || !kept {
				return err
			}
			at, end := e.offset(key.Line, key.Column), e.end(key.Line, key.Column, value)
			text := e.block(key.Column, map[string]any{key.Value: want[key.Value]})
			e.changes = append(e.changes, change{at, end, text})
		}
	}
	// a merge key (<<) brings fields that are not in the node
	maps.DeleteFunc(added, func(key string, value any) bool { return have[key] != nil && same(have[key], value) })
	switch {
	case len(added) == 0:
		return nil
	case flow:
		return e.insertFlow(node, added)
	}
	last := len(node.Content) - 2
	key := node.Content[last]
	e.add(e.end(key.Line, key.Column, node.Content[last+1]), node.Content[0].Column, added)
	return nil
}

func (e *editor) editList(node *yamlv3.Node, have, want []any) error {
	flow, more := node.Style&yamlv3.FlowStyle != 0, len(want)-len(have)
	switch {
	case more < 0:
		return errForm
	case more > 0 && same(have, want[more:]): // put before the others
		if flow {
			return e.insertFlow(node, want[:more])
		}
		line := node.Line
		for line > 1 && strings.HasPrefix(strings.TrimSpace(e.lines[line-2]), "#") { // about the first item
			line--
		}
		at := e.offset(line, node.Column)
		e.changes = append(e.changes, change{at, at, e.block(node.Column, want[:more]) + indent(node.Column)})
		return nil
	}
	for i := range have {
		if err := e.edit(node.Content[i], have[i], want[i]); err != nil {
			return err
		}
	}
	if more == 0 {
		return nil
	}
	if flow || len(have) == 0 {
		return errForm
	}
	last := node.Content[len(have)-1]
	e.add(e.end(last.Line, node.Column, last), node.Column, want[len(have):])
	return nil
}

// insertFlow inserts the items of a value after the bracket of a flow node, on lines of their own if those of the node
// are.
func (e *editor) insertFlow(node *yamlv3.Node, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	inner := string(text[1 : len(text)-1])
	if len(node.Content) > 0 {
		inner += ", "
		if first := node.Content[0]; first.Line > node.Line {
			inner = e.indented(text, node.Line, first.Column) + ","
		}
	}
	at := e.offset(node.Line, node.Column) + 1
	e.changes = append(e.changes, change{at, at, inner})
	return nil
}

// indented returns the items of a JSON value for a line, and the column of the items there.
func (e *editor) indented(value []byte, line, column int) string {
	text := e.lines[line-1]
	outer := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var b bytes.Buffer
	_ = json.Indent(&b, value, outer, strings.TrimPrefix(indent(column), outer)) // it was marshalled
	return strings.TrimRight(b.String()[1:b.Len()-1], " \n")
}

// longest is the length of a line that a person reads at a glance.
const longest = 120

// unreadable reports whether changes would make a line with a flow node so long that lines of a block are better. What
// a comment on that line is about would be elsewhere, so it then stays as it is.
func (e *editor) unreadable(node *yamlv3.Node, changes []change) bool {
	line := strings.TrimRight(e.lines[node.Line-1], "\r\n")
	length := len(line)
	for _, c := range changes {
		length += len(c.text) - (c.end - c.at)
	}
	oneLine := node.Style&yamlv3.FlowStyle != 0 && lastLine(node) == node.Line
	return oneLine && len(changes) > 0 && length > longest && !strings.Contains(line, "#")
}

// lastLine returns the line on which the last value of a node begins.
func lastLine(node *yamlv3.Node) int {
	if len(node.Content) == 0 {
		return node.Line
	}
	return lastLine(node.Content[len(node.Content)-1])
}

// add inserts lines of a block after the end of another.
func (e *editor) add(at, column int, value any) {
	text := indent(column) + e.block(column, value)
	if all := strings.Join(e.lines, ""); at > 0 && all[at-1] != '\n' {
		text = "\n" + text
	}
	e.changes = append(e.changes, change{at, at, text})
}

// block returns a value as lines of YAML, of which all but the first begin at a column.
func (e *editor) block(column int, value any) string {
	text, _ := yaml.Marshal(value) // of a manifest
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := range lines[1:] {
		if strings.TrimSpace(lines[i+1]) != "" {
			lines[i+1] = indent(column) + lines[i+1]
		}
	}
	return strings.Join(lines, "") + "\n"
}

func indent(column int) string { return strings.Repeat(" ", column-1) }

// offset returns the byte at a line and a column, which count characters from 1.
func (e *editor) offset(line, column int) int {
	at := 0
	for _, l := range e.lines[:line-1] {
		at += len(l)
	}
	characters := []rune(e.lines[line-1])
	return at + len(string(characters[:min(column-1, len(characters))]))
}

// end returns the byte after the lines of an entry whose key or dash is at a line and a column.
func (e *editor) end(line, column int, value *yamlv3.Node) int {
	last := line
	for i := line; i < len(e.lines); i++ {
		text := strings.TrimRight(e.lines[i], "\r\n")
		content := strings.TrimLeft(text, " ")
		depth := len(text) - len(content)
		dash := value.Kind == yamlv3.SequenceNode && (content == "-" || strings.HasPrefix(content, "- "))
		switch {
		case content == "":
			continue
		case depth >= column || dash && depth == column-1 && value.Line > line:
			last = i + 1
			continue
		case strings.HasPrefix(content, "#"):
			continue
		}
		break
	}
	return e.offset(last, 1) + len(e.lines[last-1])
}

// apply returns the text with all changes, those at one place in their order, and with the line ends of the text.
func (e *editor) apply() []byte {
	text := strings.Join(e.lines, "")
	if strings.HasSuffix(e.lines[0], "\r\n") {
		for i := range e.changes {
			e.changes[i].text = strings.ReplaceAll(e.changes[i].text, "\n", "\r\n")
		}
	}
	slices.Reverse(e.changes)
	slices.SortStableFunc(e.changes, func(a, b change) int { return cmp.Compare(b.at, a.at) })
	for _, c := range e.changes {
		text = text[:c.at] + c.text + text[c.end:]
	}
	return []byte(text)
}

// same compares values as JSON, in which 1 and 1.0 are equal.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
