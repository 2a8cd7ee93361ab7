package nccl

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Formats lists the formats of Format.
var Formats = []string{"shell", "dotenv", "json", "nccl-conf"}

// Format writes the variables to set, one per line; with explain each after a comment with its reason. JSON has all
// variables, also those left unset, and always their reasons.
func Format(vars []Var, format string, explain bool) (string, error) {
	line, ok := map[string]func(Var) string{
		"shell":     func(v Var) string { return "export " + v.Name + "=" + shellQuote(v.Value) },
		"dotenv":    func(v Var) string { return v.Name + "=" + dotenvQuote(v.Value) },
		"nccl-conf": ncclConfLine,
	}[format]
	if format == "json" {
		return formatJSON(vars)
	}
	if !ok {
		return "", fmt.Errorf("unknown format %q; use one of %s", format, strings.Join(Formats, ", "))
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

func formatJSON(vars []Var) (string, error) {
	var b strings.Builder
	to := json.NewEncoder(&b)
	to.SetIndent("", "  ")
	to.SetEscapeHTML(false) // the reasons have "<" and "&" for people
	err := to.Encode(append([]Var{}, vars...))
	return b.String(), err
}

// shellQuote does not quote plain words. It quotes a leading "=": zsh takes it for the path of a command.
func shellQuote(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=:,./^+-", c)
	}) < 0
	if plain && s != "" && s[0] != '=' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// dotenvQuote quotes only line breaks: "docker run --env-file" takes quotes as part of the value.
func dotenvQuote(s string) string {
	if strings.ContainsAny(s, "\n\r") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// InFile reports whether a variable is one of NCCL's, which it also reads from its files.
func InFile(name string) bool { return strings.HasPrefix(name, "NCCL_") }

// ncclConfLine returns "" for variables of other libraries and values with line breaks: NCCL's files cannot hold them.
func ncclConfLine(v Var) string {
	if !InFile(v.Name) || strings.ContainsAny(v.Value, "\n\r") {
		return ""
	}
	return v.Name + "=" + v.Value
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
