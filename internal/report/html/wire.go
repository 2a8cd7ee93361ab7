package html

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/internal/wire"
	"github.com/railhead/railhead/internal/words"
)

// Motion draws the traffic of a job over time, by rail.
type Motion struct {
	Title   string       `json:"-"` // 2 machines, 16 rails, 5m0s
	Unit    string       `json:"unit"`
	AtLeast bool         `json:"-"`
	Each    int          `json:"-"` // readings of a point
	Times   []int64      `json:"times"`
	Parts   []MotionPart `json:"parts"` // those with broken connections first

	NotDrawn int   `json:"-"` // machines beyond the limit
	Breaks   Table `json:"-"`
	Table    Table `json:"-"`
}

// MotionPart is a pod or a node.
type MotionPart struct {
	Name  string       `json:"name"`
	Rails []MotionRail `json:"rails"`
	Marks []MotionMark `json:"marks,omitempty"`
}

// MotionRail has a value for each time; null was not read.
type MotionRail struct {
	Name     string     `json:"name"`
	Sent     []*float64 `json:"sent"`
	Received []*float64 `json:"received"`
	Broken   bool       `json:"broken,omitempty"`
}

// MotionMark is a time in which connections of a rail were broken.
type MotionMark struct {
	Text  string `json:"text"` // lost: mlx5_8
	Since int64  `json:"since"`
	Until int64  `json:"until"`
}

// mostParts bounds the machines that a page draws.
const mostParts = 32

// FromSeries returns the page of readings over time.
func FromSeries(s wire.Series, file string) Page {
	if len(s.Points) == 0 {
		return Waiting("no reading was taken")
	}
	m := motionOf(s)
	return Page{
		Title:   s.Subject,
		Sources: []Source{{"Readings", file, s.Points[0].Until}},
		Verdict: seriesVerdict(s),
		Motions: []Motion{m},
	}
}

func motionOf(s wire.Series) Motion {
	scale, unit := scaleOf(s)
	m := Motion{Unit: unit, AtLeast: s.AtLeast, Each: s.Each, Breaks: breakTable(s), Table: Table{
		Title:   "Every rail",
		Columns: []string{"Machine", "Rail", "Sent, mean", "Sent, most", "Received, mean", "Received, most"},
	}}
	for _, p := range s.Points {
		m.Times = append(m.Times, p.Until.UnixMilli())
	}
	at := map[string]int{}
	for i, r := range s.Rails {
		machine, device := placeOf(r.Rail)
		k, known := at[machine]
		if !known {
			k = len(m.Parts)
			at[machine], m.Parts = k, append(m.Parts, MotionPart{machine, nil, marksOf(s, machine)})
		}
		rail := MotionRail{Name: device, Broken: slices.ContainsFunc(s.Breaks, func(b wire.Break) bool {
			return b.A == r.Rail || b.B == r.Rail
		})}
		for _, p := range s.Points {
			rail.Sent = append(rail.Sent, valueAt(p.Sent, i, scale(r)))
			rail.Received = append(rail.Received, valueAt(p.Received, i, scale(r)))
		}
		m.Parts[k].Rails = append(m.Parts[k].Rails, rail)
		row := slices.Concat([]string{machine, device}, summed(rail.Sent, unit), summed(rail.Received, unit))
		m.Table.Rows = append(m.Table.Rows, row)
	}
	m.Title = fmt.Sprintf("%s, %s, %v", number(len(m.Parts), "machine"), number(len(s.Rails), "rail"), lasted(s))
	slices.SortStableFunc(m.Parts, func(a, b MotionPart) int { return min(1, len(b.Marks)) - min(1, len(a.Marks)) })
	m.NotDrawn = max(0, len(m.Parts)-mostParts)
	m.Parts = m.Parts[:len(m.Parts)-m.NotDrawn]
	m.Table = limited(m.Table)
	return m
}

// placeOf returns the machine of a rail and its device.
func placeOf(rail check.Ref) (machine, device string) {
	machine, device, _ = strings.Cut(rail.String(), " ")
	return machine, device
}

// scaleOf returns the factor for the packets of a rail, and the unit: bytes, if the MTU is known of all rails that
// moved packets.
func scaleOf(s wire.Series) (scale func(wire.SeriesRail) float64, unit string) {
	for _, p := range s.Points {
		for i, v := range slices.Concat(p.Sent, p.Received) {
			if v != nil && *v > 0 && s.Rails[i%len(p.Sent)].BytesPerPacket == 0 {
				return func(wire.SeriesRail) float64 { return 1 }, "packets/s"
			}
		}
	}
	return func(r wire.SeriesRail) float64 { return float64(r.BytesPerPacket) / 1e9 }, "GB/s"
}

func valueAt(values []*float64, i int, scale float64) *float64 {
	if i >= len(values) || values[i] == nil {
		return nil
	}
	return new(math.Round(*values[i]*scale*1000) / 1000)
}

// summed returns the mean and the highest of the values that were read.
func summed(values []*float64, unit string) []string {
	sum, most, n := 0.0, 0.0, 0.0
	for _, v := range values {
		if v != nil {
			sum, most, n = sum+*v, max(most, *v), n+1
		}
	}
	if n == 0 {
		return []string{"not read", "not read"}
	}
	return []string{fmt.Sprintf("%.3g %s", sum/n, unit), fmt.Sprintf("%.3g %s", most, unit)}
}

// marksOf returns the breaks of a machine's rails. Rails that broke for the same time have one mark.
func marksOf(s wire.Series, machine string) (all []MotionMark) {
	var devices [][]string
	for _, b := range s.Breaks {
		for _, rail := range []check.Ref{b.A, b.B} {
			on, device := placeOf(rail)
			if on != machine || device == "" {
				continue
			}
			mark := MotionMark{string(b.State), b.Since.UnixMilli(), b.Until.UnixMilli()}
			i := slices.Index(all, mark)
			if i < 0 {
				i = len(all)
				all, devices = append(all, mark), append(devices, nil)
			}
			if !slices.Contains(devices[i], device) {
				devices[i] = append(devices[i], device)
			}
		}
	}
	for i := range all {
		all[i].Text += ": " + words.Few(devices[i], 3)
	}
	return all
}

func breakTable(s wire.Series) Table {
	t := Table{
		Title:   "Broken connections",
		Columns: []string{"State", "Between", "And", "Connections", "Since", "Until"},
	}
	for _, b := range s.Breaks {
		until := clock(b.Until)
		if b.Until.Equal(s.Points[len(s.Points)-1].Until) {
			until = "the end"
		}
		t.Rows = append(t.Rows, []string{
			string(b.State), b.A.String(), b.B.String(), fmt.Sprint(b.Connections), clock(b.Since), until,
		})
	}
	if s.MoreBreaks > 0 {
		t.Title += fmt.Sprintf("; %s more", thousands(s.MoreBreaks))
	}
	return t
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

func lasted(s wire.Series) time.Duration {
	return s.Points[len(s.Points)-1].Until.Sub(s.Points[0].Until).Round(time.Second)
}

// seriesVerdict judges all readings. A broken connection is a fault, also if it was mended.
func seriesVerdict(s wire.Series) Verdict {
	moved, unread := s.Proofs[wire.RDMA], max(s.Partial, s.Proofs[wire.NotProved])
	v := Verdict{
		Status: check.Pass,
		Text:   fmt.Sprintf("Packets moved over RDMA in %s of %s.", thousands(moved), number(s.Readings, "reading")),
		Detail: fmt.Sprintf("The readings took %v.", lasted(s)),
	}
	if unread > 0 {
		v.Status = check.Unknown
		v.Detail += fmt.Sprintf(" In %s not all machines could be read.", thousands(unread))
	}
	switch {
	case len(s.Breaks) > 0:
		b := s.Breaks[0]
		v.Status, v.Detail = check.Fail, v.Text+" "+v.Detail
		v.Text = fmt.Sprintf("Broken connections (%s): %s", b.State, b.A)
		if b.B.Specific() {
			v.Text += " and " + b.B.String()
		}
		v.Text += ", since " + clock(b.Since) + " UTC."
	case moved == 0 && unread == 0:
		v.Status, v.Text = check.Fail, "No packet moved over RDMA."
	}
	return v
}
