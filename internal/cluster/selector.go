package cluster

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// The parts of CEL selectors about one attribute: has(A), and A, A == V or A.startsWith("V").
var (
	hasTerm       = regexp.MustCompile(`^has\(device\.attributes\["([^"]+)"\]\.(\w+)\)$`)
	attributeTerm = regexp.MustCompile(`^device\.attributes\["([^"]+)"\]\.(\w+)` +
		`(?: ?== ?("[^"]*"|true|false|\d+)|\.startsWith\("([^"]*)"\))?$`)
)

// Match tells which devices of the cluster meet a request of a claim.
type Match struct {
	Known   bool        // the class and every part of the selectors were understood
	NoClass bool        // the cluster does not have the class
	Of      []DRADevice // the devices of its driver
	Devices []DRADevice // of those, the ones that meet the request
	Unmet   string      // a part of the selectors that none of them meets
}

// Matching returns the devices that meet a request. Only drivers of network devices and GPUs are known: the others have
// devices that the State does not keep.
func (s State) Matching(r ClaimRequest) Match {
	class, found := find(s.DeviceClasses, func(c DeviceClass) bool { return c.Name == r.Class })
	if !found {
		return Match{NoClass: r.Class != "" && s.Knows(DeviceClasses)}
	}
	terms := Terms(slices.Concat(class.Selectors, r.Selectors))
	i := slices.IndexFunc(terms, func(t string) bool {
		return slices.Contains([]string{DRANet, DRASriov, DRAGPU}, DriverTerm(t))
	})
	if i < 0 || !s.Knows(DRADevices) {
		return Match{}
	}
	m := Match{Known: true}
	for _, d := range s.DRADevices {
		if d.Driver == DriverTerm(terms[i]) && d.Taint == "" {
			m.Of = append(m.Of, d)
		}
	}
	m.Devices = m.Of
	for _, term := range terms {
		met, known := meeting(m.Devices, term)
		if s.hides(m.Devices, term) {
			met, known = m.Devices, false
		}
		m.Known = m.Known && known
		if len(met) == 0 && len(m.Devices) > 0 {
			m.Unmet = term
		}
		m.Devices = met
	}
	return m
}

// hides reports whether a claim that was not read may be why a device lacks the attribute of a term.
func (s State) hides(devices []DRADevice, term string) bool {
	return !s.Knows(ResourceClaims) && slices.ContainsFunc(devices, func(d DRADevice) bool {
		return d.hidden() && slices.Contains(hiddenAttributes, AttributeOf(term))
	})
}

// meeting returns the devices that meet a part of a selector; all of them if it is not understood.
func meeting(devices []DRADevice, term string) (met []DRADevice, known bool) {
	meets := meetsTerm(term)
	if meets == nil {
		return devices, false
	}
	for _, d := range devices {
		if meets(d) {
			met = append(met, d)
		}
	}
	return met, true
}

// meetsTerm returns a function that reports whether a device meets a part of a selector; nil if it is not understood.
func meetsTerm(term string) func(DRADevice) bool {
	if driver := DriverTerm(term); driver != "" {
		return func(d DRADevice) bool { return d.Driver == driver }
	}
	c := conditionOf(term)
	switch c.form {
	case exists:
		return func(d DRADevice) bool { _, has := d.Attribute[c.attribute]; return has }
	case equals:
		return func(d DRADevice) bool { return d.Attribute[c.attribute] == c.value }
	case begins:
		return func(d DRADevice) bool { return strings.HasPrefix(d.Attribute[c.attribute], c.value) }
	}
	return nil
}

// condition is a part of a selector about one attribute.
type condition struct {
	attribute string
	form      form
	value     string
}

type form int

const (
	notUnderstood form = iota
	exists             // has(ATTRIBUTE)
	equals             // ATTRIBUTE == VALUE, or ATTRIBUTE: it is true
	begins             // ATTRIBUTE.startsWith("VALUE")
)

func conditionOf(term string) condition {
	if m := hasTerm.FindStringSubmatch(term); m != nil {
		return condition{attribute: m[1] + "/" + m[2], form: exists}
	}
	m := attributeTerm.FindStringSubmatch(term)
	switch {
	case m == nil:
		return condition{}
	case m[4] != "":
		return condition{m[1] + "/" + m[2], begins, m[4]}
	}
	return condition{m[1] + "/" + m[2], equals, cmp.Or(strings.Trim(m[3], `"`), "true")}
}

// AttributeOf returns the attribute that a part of a selector is about; "" if it is none.
func AttributeOf(term string) string { return conditionOf(term).attribute }
