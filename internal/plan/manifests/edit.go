package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// editor collects changes of a text.
type editor struct {
	lines   []string
	anchors anchorEdit
	moved   map[*yamlv3.Node]bool // values with an anchor that changed, or that lost it
	changes []change
}

// anchorEdit says what happens to a value with an anchor, and to its aliases, if the value changes.
type anchorEdit int

const (
	shared   anchorEdit = iota // the value changes where it has the anchor; its aliases stay
	expanded                   // its aliases are replaced by their own values
)

// change replaces the bytes from at to end.
type change struct {
	at, end int
	text    string
}

var errForm = errors.New("a form that cannot be edited")

func (e *editor) edit(node *yamlv3.Node, have, want any) error {
	if same(have, want) && !e.stale(node) {
		return nil
	}
	switch {
	case node.Kind == yamlv3.AliasNode && e.anchors == shared:
		return nil
	case node.Kind == yamlv3.AliasNode:
		return errForm
	case node.Anchor != "":
		e.moved[node] = true
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

// stale reports whether a node has an alias of a value that changed, where aliases are expanded.
func (e *editor) stale(node *yamlv3.Node) bool {
	if e.anchors == shared || len(e.moved) == 0 {
		return false
	}
	return e.moved[node.Alias] || slices.ContainsFunc(node.Content, e.stale)
}

// rewrite replaces the text of a node, from at to end, by a value in lines of a block.
func (e *editor) rewrite(node *yamlv3.Node, at, end, column int, value any) {
	e.drop(node)
	e.changes = append(e.changes, change{at, end, e.block(column, value)})
}

// drop notes the anchors of a node whose text is replaced.
func (e *editor) drop(node *yamlv3.Node) {
	if node.Anchor != "" {
		e.moved[node] = true
	}
	for _, part := range node.Content {
		e.drop(part)
	}
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
			e.rewrite(value, at, end, key.Column, map[string]any{key.Value: want[key.Value]})
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
	case more > 0 && same(have, want[more:]):
		if err := e.insertFirst(node, want[:more]); err != nil {
			return err
		}
		want, more = want[more:], 0
	}
	for i := range have {
		if err := e.editItem(node, i, have[i], want[i]); err != nil {
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
	_, column := e.start(node)
	e.add(e.end(last.Line, column, last), column, want[len(have):])
	return nil
}

// insertFirst inserts items before the others of a list.
func (e *editor) insertFirst(node *yamlv3.Node, items []any) error {
	if node.Style&yamlv3.FlowStyle != 0 {
		return e.insertFlow(node, items)
	}
	line, column := e.start(node)
	for line > 1 && strings.HasPrefix(strings.TrimSpace(e.lines[line-2]), "#") { // about the first item
		line--
	}
	at := e.offset(line, column)
	e.changes = append(e.changes, change{at, at, e.block(column, items) + indent(column)})
	return nil
}

// editItem edits an item of a list. One that cannot be edited, or that would become a long line, is written anew.
func (e *editor) editItem(node *yamlv3.Node, i int, have, want any) error {
	item, flow, known := node.Content[i], node.Style&yamlv3.FlowStyle != 0, len(e.changes)
	err := e.edit(item, have, want)
	if flow || err == nil && !e.unreadable(item, e.changes[known:]) {
		return err
	}
	e.changes = e.changes[:known]
	_, column := e.start(node)
	e.rewrite(item, e.offset(item.Line, item.Column), e.end(item.Line, column, item), item.Column, want)
	return nil
}

// insertFlow inserts the items of a value after the bracket of a flow node. It puts them on lines of their own if the
// node's items are on lines of their own.
func (e *editor) insertFlow(node *yamlv3.Node, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	line, column := e.start(node)
	inner := string(text[1 : len(text)-1])
	if len(node.Content) > 0 {
		inner += ", "
		if first := node.Content[0]; first.Line > line {
			inner = e.indented(text, line, first.Column) + ","
		}
	}
	at := e.offset(line, column) + 1
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

// block returns a value as lines of YAML. All lines except the first are indented to a column.
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

// start returns the line and the column at which a map or list begins, after its anchor.
func (e *editor) start(node *yamlv3.Node) (line, column int) {
	line, column = node.Line, node.Column
	if node.Anchor == "" {
		return line, column
	}
	rest := strings.Join(e.lines, "")[e.offset(line, column)+len("&"+node.Anchor):]
	column += len([]rune("&" + node.Anchor))
	for {
		text := strings.TrimLeft(rest, " ")
		column += len(rest) - len(text)
		if text != "" && !strings.ContainsRune("#\r\n", rune(text[0])) {
			return line, column
		}
		_, below, found := strings.Cut(text, "\n")
		if !found {
			return node.Line, node.Column
		}
		rest, line, column = below, line+1, 1
	}
}

// end returns the byte after the lines of an entry whose key or dash is at a line and a column.
func (e *editor) end(line, column int, value *yamlv3.Node) int {
	last, begin := line, line
	if value.Kind == yamlv3.SequenceNode {
		begin, _ = e.start(value)
	}
	below := begin > line // a list whose dashes may be as deep as its key
	for i := line; i < len(e.lines); i++ {
		text := strings.TrimRight(e.lines[i], "\r\n")
		content := strings.TrimLeft(text, " ")
		depth := len(text) - len(content)
		dash := below && (content == "-" || strings.HasPrefix(content, "- "))
		switch {
		case content == "":
			continue
		case depth >= column || dash && depth == column-1:
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
