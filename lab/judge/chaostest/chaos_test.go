//go:build chaos

package chaostest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// interruptLimit is the time in which an interrupted command has to end: the table shows how long it took.
const interruptLimit = 2 * time.Minute

// Exit codes of docs/exit-codes.md.
const (
	exitOK          = 0
	exitFault       = 1
	exitUnknown     = 3
	exitInterrupted = 130
)

// side is one of the two commands of a story.
type side struct {
	*row
	args        []string
	doubles     string         // see story
	before, end state          // of an undisturbed run
	boots       map[string]int // of an undisturbed run
	early, rest []attempt
	kills       []attempt
}

// learn runs the command undisturbed.
func (s *site) learn(t *testing.T, name string, args []string) *side {
	t.Helper()
	c := &side{row: results.add(name), args: args, before: s.reader.rests(t)}
	s.boots.take()
	r := s.does(t, args...)
	c.end, c.boots, c.requests, c.kills = s.reader.rests(t), s.boots.take(), len(r.trace), kills(r.trace)
	for _, a := range attempts(r.trace) {
		if a.early {
			c.early = append(c.early, a)
		} else {
			c.rest = append(c.rest, a)
		}
	}
	return c
}

// tell disturbs both commands of a story. Each round runs both, so that each starts where the other has ended.
func (s *site) tell(t *testing.T, x story) {
	for _, args := range x.needs {
		s.does(t, args...)
	}
	s.does(t, x.does...) // what stays for good, such as a namespace, is there afterwards
	s.reader.rests(t)
	s.does(t, x.undoes...)
	does, undoes := s.learn(t, x.name, x.does), s.learn(t, "undo "+x.name, x.undoes)
	does.before, does.doubles = undoes.end, x.doubles
	s.interruptEarly(t, does, undoes)
	s.complete(t, does)
	s.interruptEarly(t, undoes, does)
	s.complete(t, undoes)
	for i := range max(len(does.rest), len(undoes.rest)) {
		s.next(t, does, does.rest, i)
		s.next(t, undoes, undoes.rest, i)
	}
	s.takeBack(t, does, undoes)
	for i := range does.kills { // last: some controllers take long to see a new API server
		s.next(t, does, does.kills, i)
		s.next(t, undoes, undoes.kills, i)
	}
}

// next makes an attempt, if there is one more, and brings the cluster to where the command ends.
func (s *site) next(t *testing.T, c *side, attempts []attempt, i int) {
	t.Helper()
	if i >= len(attempts) || !s.attempt(t, c, attempts[i]) {
		s.complete(t, c)
	}
}

// interruptEarly interrupts a command before it has written anything.
func (s *site) interruptEarly(t *testing.T, c, other *side) {
	t.Helper()
	for _, a := range c.early {
		if !s.attempt(t, c, a) {
			s.complete(t, c)
			s.complete(t, other)
		}
	}
}

// attempt disturbs a command, and runs it again unless nothing was written. It reports whether the cluster is where the
// attempt was to leave it.
func (s *site) attempt(t *testing.T, c *side, a attempt) bool {
	t.Helper()
	r := s.railhead(t, a.ways, c.args...)
	err := a.judge(r)
	if r.code != exitOK && !a.interrupts() {
		c.again++
	}
	c.slowest = max(c.slowest, r.ended)
	early := a.early && !slices.ContainsFunc(r.trace, writes) // another request may have been on its way
	if early && err == nil {
		if d := s.reader.becomes(t, c.before, c.doubles); !d.none() {
			err = fmt.Errorf("interrupted before the first write, and changed: %v", d)
		}
	} else if err == nil {
		err = s.finish(t, c)
		if err == nil && !a.has(serverKilled) { // which ends the watch of the nodes
			err = s.boots.becomes(c.boots)
		}
	}
	for _, w := range a.ways {
		c.count(w, err)
	}
	if err != nil {
		t.Errorf("%s: %v: %v\n%s", c.name, a, err, r.out)
	}
	return err == nil && early == a.early
}

// finish runs a command without disturbance, and wants the cluster to be as if there had never been one.
func (s *site) finish(t *testing.T, c *side) error {
	t.Helper()
	r := s.railhead(t, nil, c.args...)
	if r.code != exitOK && !r.gone() {
		return fmt.Errorf("afterwards, %s ends with exit code %d\n%s", c.name, r.code, r.out)
	}
	d := s.reader.becomes(t, c.end, c.doubles)
	c.lost += len(d.lost)
	c.doubled += len(d.doubled) + len(d.known)
	if !d.none() {
		return fmt.Errorf("afterwards, %s leaves something else: %v\n%s", c.name, d, r.out)
	}
	return nil
}

// complete brings the cluster to where the command ends.
func (s *site) complete(t *testing.T, c *side) {
	t.Helper()
	for range 3 { // a namespace may be on its way out
		if r := s.railhead(t, nil, c.args...); (r.code == exitOK || r.gone()) && s.reader.becomes(t, c.end, c.doubles).none() {
			s.boots.take()
			return
		}
	}
	t.Fatalf("%s does not get where it got at first: %v", c.name, s.reader.becomes(t, c.end, c.doubles))
}

// takeBack interrupts a command after each write, and undoes what it has done.
func (s *site) takeBack(t *testing.T, does, undoes *side) {
	t.Helper()
	for _, a := range does.rest {
		if !a.has(interruptAfter) || !a.writes() {
			continue
		}
		r := s.railhead(t, a.ways, does.args...)
		err := a.judge(r)
		if err == nil {
			s.boots.take()
			err = s.finish(t, undoes)
		}
		undoes.count(takenBack, err)
		if err != nil {
			t.Errorf("%s after %v: %v\n%s", undoes.name, a, err, r.out)
			s.complete(t, undoes)
		}
	}
}

// gone reports whether delete found no object of the job, which is a fault for it: the name may be wrong.
func (r run) gone() bool { return r.code == exitFault && strings.Contains(r.out, "[job-found]") }

// wayOn matches a sentence by which an interrupted command says how to go on.
var wayOn = regexp.MustCompile(`(?i)the same command again|follow it with: |nothing was written`)

// away matches a sentence by which a command says that the API server was away.
var away = regexp.MustCompile(`(?m)^railhead: .*(does not answer|unable to handle the request)`)

// judge returns what is wrong about the end of a disturbed command.
func (a attempt) judge(r run) error {
	if !maps.Equal(r.hit, a.ways) {
		return fmt.Errorf("of the requests, only %v were made", r.hit)
	}
	if !a.interrupts() {
		switch {
		case r.code == exitOK:
			return nil
		case !slices.ContainsFunc(slices.Collect(maps.Keys(a.ways)), connects):
			return fmt.Errorf("it gave up with exit code %d", r.code)
		case r.code != exitFault && r.code != exitUnknown:
			return fmt.Errorf("exit code %d", r.code)
		case !away.MatchString(r.out):
			return errors.New("it does not say that the API server was away")
		}
		return nil
	}
	switch {
	case r.ended > interruptLimit:
		return fmt.Errorf("it ended %v after Ctrl-C", r.ended)
	case r.code == exitOK && slices.Contains(r.trace, a.last): // it had ended
		return nil
	case r.code != exitInterrupted:
		return fmt.Errorf("exit code %d after Ctrl-C", r.code)
	case strings.Contains(r.out, "nothing was written") && slices.ContainsFunc(r.trace, writes):
		return errors.New("it says that nothing was written, after a write")
	case !wayOn.MatchString(r.out):
		return errors.New("it does not say how to go on")
	}
	return nil
}
