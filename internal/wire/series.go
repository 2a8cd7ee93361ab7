package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/railhead/railhead/internal/check"
)

// SeriesVersion is the version of the JSON of a Series. Fields are added within a version; none changes its meaning.
const SeriesVersion = 1

// Series records the traffic of a job over time. Its size is bounded: of many points, neighbours are joined.
type Series struct {
	SchemaVersion int           `json:"schemaVersion"`
	Subject       string        `json:"subject"` // Job h-kim in namespace train
	Readings      int           `json:"readings"`
	Proofs        map[Proof]int `json:"proofs"`            // readings by what they prove
	Partial       int           `json:"partial,omitempty"` // readings without some of the machines
	Broken        map[State]int `json:"broken,omitempty"`  // readings with connections that are Lost, or whose PeerGone
	AtLeast       bool          `json:"atLeast,omitempty"` // the sequence numbers may have wrapped between readings
	Rails         []SeriesRail  `json:"rails"`
	Points        []Point       `json:"points"`
	Each          int           `json:"each"` // readings of a point; the last may have fewer
	Breaks        []Break       `json:"breaks,omitempty"`
	MoreBreaks    int           `json:"moreBreaks,omitempty"` // that are not listed

	last     time.Time         // reading
	at       map[check.Ref]int // place in Rails
	unlisted []Break           // of the last reading
}

// SeriesRail is a rail of a machine, or another device that a process used.
type SeriesRail struct {
	Rail           check.Ref `json:"rail"`
	BytesPerPacket int       `json:"bytesPerPacket,omitempty"` // 0: the MTU is unknown
}

// Point has the means of some readings, in packets per second for each rail: null if it was not read.
type Point struct {
	Until    time.Time  `json:"until"` // the last of the readings
	Readings int        `json:"readings"`
	Sent     []*float64 `json:"sent"`
	Received []*float64 `json:"received"`
}

// Break is a time in which connections between two rails were broken, at every reading.
type Break struct {
	State       State     `json:"state"`
	A           check.Ref `json:"a"`
	B           check.Ref `json:"b,omitzero"`  // zero: it has no other end
	Connections int       `json:"connections"` // the most at once
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
}

// The most that a series keeps.
const (
	mostPoints = 600
	mostValues = 100_000 // points times rails
	mostBreaks = 200
)

// Check returns an error for a series that this program cannot read.
func (s *Series) Check() error {
	if s.SchemaVersion < 1 || s.SchemaVersion > SeriesVersion {
		return fmt.Errorf("unknown schema version %d: this railhead reads versions up to %d",
			s.SchemaVersion, SeriesVersion)
	}
	for _, p := range s.Points {
		if len(p.Sent) > len(s.Rails) || len(p.Sent) != len(p.Received) {
			return errors.New("incomplete series: it refers to rails that it does not contain")
		}
		for _, v := range slices.Concat(p.Sent, p.Received) {
			if v != nil && !(*v >= 0 && *v < 1e12) {
				return fmt.Errorf("%g packets per second", *v)
			}
		}
	}
	return nil
}

// Add adds a reading of the job.
func (s *Series) Add(at time.Time, j Job) {
	if s.Readings == 0 {
		s.SchemaVersion, s.Each, s.Proofs, s.at = SeriesVersion, 1, map[Proof]int{}, map[check.Ref]int{}
	}
	s.Readings++
	s.Proofs[j.Proof]++
	if len(j.Unproved) > 0 {
		s.Partial++
	}
	p := Point{Until: at, Readings: 1}
	for _, m := range j.Members {
		if m.Proof != NotProved {
			s.addMember(&p, m)
		}
	}
	if last := len(s.Points) - 1; last >= 0 && s.Points[last].Readings < s.Each {
		s.Points[last] = joined(s.Points[last], p)
	} else {
		s.Points = append(s.Points, p)
	}
	if len(s.Points) > max(2, min(mostPoints, mostValues/max(1, len(s.Rails)))) {
		s.halve()
	}
	s.addBreaks(at, j.Faults)
	s.last = at
}

func (s *Series) addMember(p *Point, m Member) {
	for _, device := range m.Rails {
		if !m.unknown(device) {
			s.count(p, check.DeviceRef(device).On(m.Ref), Usage{})
		}
	}
	for _, u := range m.Usages {
		if u.Over > 0 || !m.unknown(u.Device) {
			s.count(p, check.DeviceRef(u.Device).On(m.Ref), u)
		}
	}
}

// count adds what a process does on a rail.
func (s *Series) count(p *Point, rail check.Ref, u Usage) {
	i, known := s.at[rail]
	if !known {
		i = len(s.Rails)
		s.at[rail], s.Rails = i, append(s.Rails, SeriesRail{Rail: rail})
	}
	seconds := max(u.Over.Seconds(), 1e-3)
	for values, a := range map[*[]*float64]Amount{&p.Sent: u.Sent, &p.Received: u.Got} {
		for len(*values) < len(s.Rails) {
			*values = append(*values, nil)
		}
		rate := math.Round(float64(a.Packets) / seconds)
		if was := (*values)[i]; was != nil {
			rate += *was
		}
		(*values)[i] = &rate
		s.AtLeast = s.AtLeast || a.AtLeast
		if a.Rate > 0 {
			s.Rails[i].BytesPerPacket = int(math.Round(a.Rate * seconds / float64(a.Packets)))
		}
	}
}

// halve makes one point of two.
func (s *Series) halve() {
	half := s.Points[:0]
	for two := range slices.Chunk(s.Points, 2) {
		half = append(half, two[0])
		if len(two) == 2 {
			half[len(half)-1] = joined(two[0], two[1])
		}
	}
	s.Points, s.Each = half, 2*s.Each
}

// joined returns the mean of two points. A rail that was read in one of them has that value.
func joined(a, b Point) Point {
	mean := func(x, y []*float64) []*float64 {
		all := make([]*float64, max(len(x), len(y)))
		for i := range all {
			switch {
			case i >= len(x) || x[i] == nil:
				all[i] = y[i]
			case i >= len(y) || y[i] == nil:
				all[i] = x[i]
			default:
				sum := *x[i]*float64(a.Readings) + *y[i]*float64(b.Readings)
				all[i] = new(math.Round(sum / float64(a.Readings+b.Readings)))
			}
		}
		return all
	}
	return Point{b.Until, a.Readings + b.Readings, mean(a.Sent, b.Sent), mean(a.Received, b.Received)}
}

// addBreaks continues the breaks of the reading before, and begins those that are new.
func (s *Series) addBreaks(at time.Time, faults []Connection) {
	seen, before := map[State]bool{}, s.unlisted
	s.unlisted = nil
	for _, b := range breaks(at, faults) {
		if s.Broken == nil {
			s.Broken = map[State]int{}
		}
		if !seen[b.State] {
			seen[b.State] = true
			s.Broken[b.State]++
		}
		goesOn := func(x Break) bool {
			return x.State == b.State && x.A == b.A && x.B == b.B && x.Until.Equal(s.last)
		}
		i := slices.IndexFunc(s.Breaks, goesOn)
		switch {
		case i >= 0:
			s.Breaks[i].Until, s.Breaks[i].Connections = at, max(s.Breaks[i].Connections, b.Connections)
		case len(s.Breaks) < mostBreaks:
			s.Breaks = append(s.Breaks, b)
		default:
			if !slices.ContainsFunc(before, goesOn) {
				s.MoreBreaks++
			}
			s.unlisted = append(s.unlisted, b)
		}
	}
}

// breaks groups the faults of a reading by state and rails.
func breaks(at time.Time, faults []Connection) (all []Break) {
	rail := func(p Place) (r check.Ref) {
		if p.End != nil {
			r = check.DeviceRef(p.Device).On(p.Machine)
		}
		return r
	}
	for _, c := range faults {
		from, to := rail(c.A), rail(c.B)
		if to.Specific() && to.String() < from.String() { // whichever end was read first
			from, to = to, from
		}
		i := slices.IndexFunc(all, func(b Break) bool { return b.State == c.State && b.A == from && b.B == to })
		if i < 0 {
			i = len(all)
			all = append(all, Break{State: c.State, A: from, B: to, Since: at, Until: at})
		}
		all[i].Connections++
	}
	return all
}
