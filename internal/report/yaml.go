package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// toYAML turns JSON into block-style YAML and keeps the order of keys, which sigs.k8s.io/yaml does not. That would also
// add 330 kB to railhead-pod. A test reads the output back with it.
func toYAML(data []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	w := yamlWriter{dec: dec}
	err := w.value(0, false)
	return bytes.TrimLeft(w.out.Bytes(), "\n "), err
}

type yamlWriter struct {
	dec *json.Decoder
	out bytes.Buffer
}

// value writes one value after "key:" or, as an item, after "-", where a map starts on the same line.
func (w *yamlWriter) value(indent int, item bool) error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		w.out.WriteString(" " + scalar(token))
		return nil
	}
	if !w.dec.More() {
		w.out.WriteString(map[json.Delim]string{'{': " {}", '[': " []"}[open])
		_, err = w.dec.Token()
		return err
	}
	for first := true; w.dec.More(); first = false {
		if first && item && open == '{' {
			w.out.WriteByte(' ')
		} else {
			w.out.WriteString("\n" + strings.Repeat(" ", indent))
		}
		if err := w.entry(open, indent); err != nil {
			return err
		}
	}
	_, err = w.dec.Token()
	return err
}

func (w *yamlWriter) entry(open json.Delim, indent int) error {
	if open == '[' {
		w.out.WriteByte('-')
		return w.value(indent+2, true)
	}
	key, err := w.dec.Token()
	if err != nil {
		return err
	}
	w.out.WriteString(scalar(key) + ":")
	return w.value(indent+2, false)
}

// scalar leaves words unquoted that every version of YAML reads as strings. JSON's quoting is valid YAML.
func scalar(token json.Token) string {
	s, ok := token.(string)
	if !ok {
		if token == nil {
			return "null"
		}
		return fmt.Sprint(token)
	}
	if isWord(s) {
		return s
	}
	quoted, _ := json.Marshal(s) // a string always marshals
	return string(quoted)
}

var yamlKeywords = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func isWord(s string) bool {
	for i, c := range s {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '/'
		inner := '0' <= c && c <= '9' || strings.ContainsRune("-.", c)
		if !letter && (i == 0 || !inner) {
			return false
		}
	}
	return s != "" && !slices.Contains(yamlKeywords, strings.ToLower(s))
}
