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

// Match is how the devices of the cluster meet a request of a claim.
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
		m.Known = m.Known && known
		if len(met) == 0 && len(m.Devices) > 0 {
			m.Unmet = term
		}
		m.Devices = met
	}
	return m
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
	attribute := AttributeOf(term)
	if driver := DriverTerm(term); driver != "" {
		return func(d DRADevice) bool { return d.Driver == driver }
	}
	if hasTerm.MatchString(term) {
		return func(d DRADevice) bool { _, has := d.Attribute[attribute]; return has }
	}
	m := attributeTerm.FindStringSubmatch(term)
	switch {
	case m == nil:
		return nil
	case m[4] != "":
		return func(d DRADevice) bool { return strings.HasPrefix(d.Attribute[attribute], m[4]) }
	}
	wanted := cmp.Or(strings.Trim(m[3], `"`), "true")
	return func(d DRADevice) bool { return d.Attribute[attribute] == wanted }
}

// AttributeOf returns the attribute that a part of a selector is about; "" if it is none.
func AttributeOf(term string) string {
	for _, form := range []*regexp.Regexp{hasTerm, attributeTerm} {
		if m := form.FindStringSubmatch(term); m != nil {
			return m[1] + "/" + m[2]
		}
	}
	return ""
}
