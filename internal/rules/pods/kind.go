package pods

import (
	"regexp"
	"slices"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// kind is one kind of message of a family, with its own answer. In its texts {pod}, {on} ("node gpu-1"), {node},
// {namespace}, {quote} and {1}, the first group of the words that matched, are replaced.
type kind struct {
	words   *regexp.Regexp
	summary string
	fix     *check.Fix
	example string // a message of a real component
	waits   bool   // it may pass without a fix
	lasts   bool   // a retry changes nothing
}

// kindOf returns the first kind whose words match a symptom, with what they matched.
func kindOf(kinds []kind, sym symptom) (k kind, match []string, ok bool) {
	for _, k := range kinds {
		if match = k.words.FindStringSubmatch(sym.whole()); match != nil {
			return k, match, true
		}
	}
	return k, nil, false
}

// ofKind matches the symptoms of any of the kinds.
func ofKind(kinds []kind) func(symptom) bool {
	return func(s symptom) bool {
		_, _, ok := kindOf(kinds, s)
		return ok
	}
}

// answer returns the explanation of a family that consists of kinds.
func answer(id check.ID, kinds []kind) func(target, symptom) check.Finding {
	return func(t target, sym symptom) check.Finding {
		k, match, _ := kindOf(kinds, sym)
		group := ""
		if i := slices.IndexFunc(match, func(m string) bool { return m != "" && m != match[0] }); i > 0 {
			group = match[i]
		}
		fill := strings.NewReplacer("{pod}", t.name(), "{on}", onNodeOf(t), "{node}", t.node(),
			"{namespace}", t.namespace(), "{sriov}", t.s.SriovNamespace(),
			"{quote}", quote(sym.text), "{1}", group).Replace
		fix := *k.fix
		fix.Text, fix.Commands = fill(fix.Text), slices.Clone(fix.Commands)
		for i, command := range fix.Commands {
			fix.Commands[i] = fill(command)
		}
		f := failure(id, fill(k.summary), &fix)
		if k.waits {
			f.Status = check.Warn
		}
		return f
	}
}
