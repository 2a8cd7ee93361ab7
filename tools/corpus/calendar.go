package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// calendar shifts the dates of a file by whole days, so that the first is 2 March 2026.
type calendar struct {
	year int // that dates without one have
	days int
}

var firstDay = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// dateForm is one way to write a date.
type dateForm struct {
	pattern *regexp.Regexp // its groups: what stands before, the date, what stands after
	layouts []string
}

// dateForms are tried in this order. Dates without a year come after those with one, which tell the year.
var dateForms = []dateForm{
	{regexp.MustCompile(`(^|\D)(20\d\d-\d\d-\d\d)([ T_])`), []string{"2006-01-02"}},
	{regexp.MustCompile(`(^|\D)(20\d\d:\d\d:\d\d)(-\d\d:)`), []string{"2006:01:02"}},
	{regexp.MustCompile(`()\b(\d\d/[A-Z][a-z]{2}/20\d\d)(:)`), []string{"02/Jan/2006"}},
	{regexp.MustCompile(`(^|\D)(20\d\d[01]\d[0-3]\d)([ _-]\d\d:?\d\d:?\d\d)`), []string{"20060102"}},
	{regexp.MustCompile(`()\b([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} 20\d\d)()`), []string{time.ANSIC}},
	{regexp.MustCompile(`(libfabric:\d+:|\[)(1[4-9]\d{8})([:.])`), []string{epoch}},
	{regexp.MustCompile(`((?:INFO|WARNING|ERROR) )(\d\d-\d\d)( \d\d:\d\d:)`), []string{"01-02"}},
	{regexp.MustCompile(`(\b[IWEF])(\d{3,4})( \d\d:\d)`), []string{"0102", "102"}},
}

// epoch stands for seconds since 1970.
const epoch = "epoch"

func calendarOf(text string) calendar {
	for _, f := range dateForms {
		m := f.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		for _, layout := range f.layouts {
			if t, err := parseDate(layout, m[2]); err == nil {
				if t.Year() == 0 {
					t = t.AddDate(2025, 0, 0)
				}
				return calendar{t.Year(), int(firstDay.Sub(t.Truncate(24*time.Hour)).Hours() / 24)}
			}
		}
	}
	return calendar{2025, 0}
}

// shift moves the dates of a line.
func (c calendar) shift(line string) string {
	for _, f := range dateForms {
		line = f.pattern.ReplaceAllStringFunc(line, func(found string) string {
			m := f.pattern.FindStringSubmatch(found)
			for _, layout := range f.layouts {
				if t, err := parseDate(layout, m[2]); err == nil {
					return m[1] + c.moved(layout, t) + m[3]
				}
			}
			return found
		})
	}
	return line
}

func parseDate(layout, text string) (time.Time, error) {
	switch layout {
	case epoch:
		seconds, err := strconv.ParseInt(text, 10, 64)
		return time.Unix(seconds, 0).UTC(), err
	case "102":
		return time.Parse("0102", "0"+text)
	}
	return time.Parse(layout, text)
}

func (c calendar) moved(layout string, t time.Time) string {
	if t.Year() == 0 {
		t = t.AddDate(c.year, 0, 0)
	}
	t = t.AddDate(0, 0, c.days)
	switch layout {
	case epoch:
		return strconv.FormatInt(t.Unix(), 10)
	case "102":
		return strings.TrimPrefix(t.Format("0102"), "0")
	}
	return t.Format(layout)
}
