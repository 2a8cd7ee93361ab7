package netlink

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
)

// Recording has the answers of a kernel as they came.
type Recording struct {
	Kernel    string     `json:"kernel"` // uname -r
	Exchanges []Recorded `json:"exchanges"`
}

// Recorded is one request with all messages of its answer.
type Recorded struct {
	Request  []byte        `json:"request"`
	Messages []Message     `json:"messages,omitempty"`
	Errno    syscall.Errno `json:"errno,omitempty"`
}

// Message is a netlink message without its header.
type Message struct {
	Kind uint16 `json:"kind"`
	Body []byte `json:"body"`
}

// Of returns an Exchange that records what another one answers.
func (r *Recording) Of(ask Exchange) Exchange {
	return func(request []byte, each func(kind uint16, body []byte) (last bool)) error {
		made := Recorded{Request: request}
		err := ask(request, func(kind uint16, body []byte) (last bool) {
			made.Messages = append(made.Messages, Message{kind, bytes.Clone(body)})
			return each(kind, body)
		})
		_ = errors.As(err, &made.Errno) // another error is not the kernel's answer
		r.Exchanges = append(r.Exchanges, made)
		return err
	}
}

// Replay answers as the recorded kernel did.
func (r *Recording) Replay(request []byte, each func(kind uint16, body []byte) (last bool)) error {
	for _, x := range r.Exchanges {
		if !bytes.Equal(x.Request, request) {
			continue
		}
		for _, m := range x.Messages {
			if each(m.Kind, m.Body) {
				return nil
			}
		}
		if x.Errno != 0 {
			return x.Errno
		}
		return nil
	}
	return fmt.Errorf("request %x was not recorded", request)
}
