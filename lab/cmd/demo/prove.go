package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// prove sends from pod to pod, and shows in the meantime what the kernel says of it.
func prove(ctx context.Context, w io.Writer) error {
	const seconds = 60
	sender := send("In one terminal, perftest sends from pod to pod for a minute; its output follows below:", seconds)
	sender.show(w)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var output bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- sender.run(ctx, &output)
		stop()
	}()
	proved, err := watch(watching, w, stop)
	sent := <-ended
	fmt.Fprintf(w, "\nWhat the first terminal shows:\n%s", output.Bytes())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sent != nil:
		return sent
	case err != nil:
		return err
	case proved == 0:
		return errors.New("railhead wire: no reading says RDMA")
	}
	return nil
}

// watch runs wire until enough readings say RDMA, or nothing is sent any more, and counts them.
func watch(ctx context.Context, w io.Writer, stop func()) (readings int, err error) {
	const enough = 3
	wire := scene{
		why:  "In another terminal, the kernel's proof, again and again until Ctrl-C:",
		line: "railhead wire job -n train --watch --every 2s --save " + wireFile,
	}
	c := &counter{Writer: w, text: []byte("\nRDMA: "), enough: enough, done: stop}
	err = wire.play(ctx, c)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "^C")
		err = nil
	}
	return c.count(), err
}

// counter passes output on, and calls done when a text was in it often enough.
type counter struct {
	io.Writer
	text   []byte
	enough int
	done   func()
	all    bytes.Buffer
}

func (c *counter) count() int { return bytes.Count(c.all.Bytes(), c.text) }

func (c *counter) Write(output []byte) (int, error) {
	c.all.Write(output)
	if c.count() >= c.enough {
		c.done()
	}
	return c.Writer.Write(output)
}
