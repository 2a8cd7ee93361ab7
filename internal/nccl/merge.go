package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railhead/railhead/internal/check"
)

// require sets an integer parameter or a word that no other rule judges, and warns if a different value of the user is
// kept instead.
func (c *computation) require(name, value, reason string) {
	c.set(name, value, Computed, reason)
	user, set := c.value(name)
	_, word := strconv.Atoi(value)
	n, _ := number(user)
	m, _ := number(value)
	if !set || user == value || word == nil && n == m {
		return
	}
	c.say(check.Finding{
		Check: UserSetting, Status: check.Warn, Subject: check.EnvRef(name),
		Summary:  fmt.Sprintf("%s=%s is kept, but this machine needs %s: %s", name, user, value, reason),
		Evidence: []check.Evidence{{Source: c.origin(name), Got: user, Want: value}},
		Fix:      unsetFix(name),
	})
}

func unsetFix(names ...string) *check.Fix {
	return check.ByUser("Unset it, or let Railhead replace it with --override.", "unset "+strings.Join(names, " "))
}

// contradicts reports a setting of the user that contradicts the machine. The caller then takes it for unset, if ok.
func (c *computation) contradicts(name string, f check.Finding) (corrected bool) {
	if c.policy.Correct {
		c.corrected[name] = true
		f.Status = check.Warn
		f.Summary += ": REPLACED"
		f.Fix = check.ByUser("Remove it from the image or the manifest. To keep it, use --keep.", "unset "+name)
	}
	c.say(f)
	return c.policy.Correct
}

// mergedVars keeps the settings of the user, except where a flag decided, --override was given, or the machine
// contradicts.
func mergedVars(c *computation) []Var {
	vars := make([]Var, 0, len(c.vars))
	for _, v := range c.vars {
		value, origin, set := c.s.UserSetting(v.Name)
		kept := Var{Name: v.Name, Value: value, Reason: "set by " + origin + " and kept", Source: UserSet}
		switch {
		case v.Source == UserSet:
			v = kept
		case v.Source == LeftUnset && set && !c.replaces(v.Name):
			v = kept
		case v.Source == LeftUnset:
			v = unsetVar(c, v)
		case !set || value == v.Value:
		case v.Source == Decided || c.replaces(v.Name):
			v.Reason += fmt.Sprintf(" (replaces %q of %s)", value, origin)
		default:
			v = kept
		}
		vars = append(vars, v)
	}
	return vars
}

// clear removes settings of the user that this run replaces, and for which no rule has a value.
func (c *computation) clear(names []string) {
	for _, name := range names {
		_, _, set := c.s.UserSetting(name)
		decided := slices.ContainsFunc(c.vars, func(v Var) bool { return v.Name == name })
		if c.replaces(name) && set && !decided {
			c.leave(name, "NCCL's own default is right on the pod's rails")
		}
	}
}

// neutral are the values with the same effect as leaving a variable unset. NCCL ignores an empty NCCL_IB_ADDR_RANGE
// (src/transport/net_ib.cc envIbAddrRange) and an unknown level (src/graph/paths.cc).
var neutral = map[string]string{
	"NCCL_IB_GID_INDEX":        "-1",
	"NCCL_IB_ADDR_FAMILY":      "AF_INET",
	"NCCL_IB_ROCE_VERSION_NUM": "2",
	"NCCL_IB_ADDR_RANGE":       "",
	"NCCL_IB_DISABLE":          "0",
	"NCCL_NET_GDR_LEVEL":       "",
}

// unsetVar removes a variable from the environment. A setting in one of NCCL's files then applies, since NCCL takes it
// for every variable that is not set: only a variable overrides it.
func unsetVar(c *computation, v Var) Var {
	value, origin, set := c.s.UserSetting(v.Name)
	inFile, file, fromFile := c.s.FileSetting(v.Name)
	instead, exists := neutral[v.Name]
	switch {
	case fromFile && exists:
		v.Value, v.Source = instead, Computed
		v.Reason += fmt.Sprintf(" (as if unset: without the variable, %q of %s would apply)", inFile, file)
	case fromFile:
		c.sayFile(v.Name, inFile, file)
		return Var{
			Name:   v.Name,
			Value:  inFile,
			Reason: "set by " + file + "; only editing that file changes it",
			Source: UserSet,
		}
	case set:
		v.Reason = fmt.Sprintf("%q of %s removed: %s", value, origin, v.Reason)
	}
	return v
}

func (c *computation) sayFile(name, value, file string) {
	f := check.Finding{
		Check: NetworkChoice, Status: check.Warn, Subject: check.EnvRef(name),
		Summary: fmt.Sprintf("%s=%s of %s cannot be removed: no value of the variable is the same as unset",
			name, value, file),
		Evidence: []check.Evidence{{Source: file, Got: name + "=" + value}},
		Fix:      check.ByUser("Remove the line from the file.", "sed -i /^"+name+"=/d "+file),
	}
	if forced := forcesSockets(name, value); forced {
		f.Status = check.Fail
		f.Summary += "; it forces TCP"
	}
	c.say(f)
}
