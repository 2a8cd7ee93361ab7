package nccl

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Formats are the forms in which Format writes an environment.
var Formats = []string{"shell", "dotenv", "json", "nccl-conf"}

// Format writes the variables that are to be set, one per line; with explain each after a comment with its reason.
// JSON holds all variables, those left unset too, and always their reasons.
func Format(vars []Var, format string, explain bool) (string, error) {
	line, ok := map[string]func(Var) string{
		"shell":     func(v Var) string { return "export " + v.Name + "=" + shellQuote(v.Value) },
		"dotenv":    func(v Var) string { return v.Name + "=" + dotenvQuote(v.Value) },
		"nccl-conf": ncclConfLine,
	}[format]
	if format == "json" {
		return formatJSON(vars), nil
	}
	if !ok {
		return "", fmt.Errorf("unknown format %q; one of %s", format, strings.Join(Formats, ", "))
	}
	var b strings.Builder
	for _, v := range vars {
		text := ""
		if v.Source != LeftUnset {
			text = line(v)
		} else if format == "shell" {
			text = "unset " + v.Name
		}
		if text == "" {
			continue
		}
		if explain {
			fmt.Fprintf(&b, "# %s\n", oneLine(v.Reason))
		}
		b.WriteString(text + "\n")
	}
	return b.String(), nil
}

// formatJSON writes four strings per variable itself: encoding/json would cost every start a tenth of a millisecond.
func formatJSON(vars []Var) string {
	var b strings.Builder
	b.WriteString("[")
	for i, v := range vars {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  {\n    \"name\": %s,\n    \"value\": %s,\n    \"reason\": %s,\n    \"source\": %s\n  }",
			jsonQuote(v.Name), jsonQuote(v.Value), jsonQuote(v.Reason), jsonQuote(string(v.Source)))
	}
	b.WriteString("\n]\n")
	return b.String()
}

// jsonQuote leaves to encoding/json what is not plain ASCII.
func jsonQuote(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) < 0
	if plain {
		return `"` + s + `"`
	}
	quoted, _ := json.Marshal(s) // a string always marshals
	return string(quoted)
}

// shellQuote leaves plain words as they are. A leading "=" is quoted: zsh takes it for the path of a command.
func shellQuote(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=:,./^+-", c)
	}) < 0
	if plain && s != "" && s[0] != '=' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// dotenvQuote quotes only what would break the line: "docker run --env-file" takes quotes as part of the value.
func dotenvQuote(s string) string {
	if strings.ContainsAny(s, "\n\r") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// ncclConfLine is empty for what NCCL's files cannot hold: other libraries' variables, line breaks.
func ncclConfLine(v Var) string {
	if !strings.HasPrefix(v.Name, "NCCL_") || strings.ContainsAny(v.Value, "\n\r") {
		return ""
	}
	return v.Name + "=" + v.Value
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
