package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client asks the agent of one machine.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// NewClient returns a client of the agent that is reached at address, a host with a port.
func NewClient(address, token string) *Client {
	// Each request has a connection of its own: one that was kept would be dead after a reboot of the machine. The
	// machine is on this host, no proxy leads to it.
	transport := &http.Transport{DisableKeepAlives: true}
	return &Client{base: "http://" + address, token: token, http: &http.Client{Transport: transport}}
}

// ErrFailed means that a machine will not become ready.
var ErrFailed = errors.New("the machine failed")

// Status asks how far the machine is.
func (c *Client) Status(ctx context.Context) (Status, error) { return c.status(ctx, -1) }

// status asks for the status when there are more than so many stages.
func (c *Client) status(ctx context.Context, stages int) (Status, error) {
	path := StatusPath
	if stages >= 0 {
		path += fmt.Sprintf("?stages=%d", stages)
	}
	var s Status
	err := c.do(ctx, http.MethodGet, path, nil, func(body io.Reader) error { return json.NewDecoder(body).Decode(&s) })
	return s, err
}

// WaitReady waits until the machine is as its Config describes, or returns ErrFailed.
func (c *Client) WaitReady(ctx context.Context) (Status, error) {
	return c.Follow(ctx, func(Stage) {})
}

// Follow is WaitReady that tells each stage as soon as it is known.
func (c *Client) Follow(ctx context.Context, tell func(Stage)) (Status, error) {
	told := 0
	for {
		s, err := c.patiently(ctx, told)
		for ; told < len(s.Stages); told++ {
			tell(s.Stages[told])
		}
		switch {
		case err != nil:
			return s, fmt.Errorf("wait for the machine: %w", err)
		case s.Failed != "":
			return s, fmt.Errorf("%w: %s", ErrFailed, s.Failed)
		case s.Ready:
			return s, nil
		}
	}
}

// patiently asks for further stages until it has an answer. A machine that boots has no agent yet, and QEMU's network
// takes connections long before, and then sends their first packet again at ever longer intervals: so the first
// question is a short one, asked again and again.
func (c *Client) patiently(ctx context.Context, stages int) (Status, error) {
	patience := 2 * time.Second
	if stages > 0 {
		patience = StatusPatience + 10*time.Second
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, patience)
		s, err := c.status(attempt, stages)
		cancel()
		if err == nil || errors.Is(err, errRefused) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return Status{}, fmt.Errorf("%w; the last answer: %w", context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Exec runs a command in the machine, streams its output, and returns its exit code. The error is for a
// command that did not start, and for an answer that broke off.
func (c *Client) Exec(ctx context.Context, e Exec, stdout, stderr io.Writer) (code int, err error) {
	question, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	var exit Exit
	err = c.do(ctx, http.MethodPost, ExecPath, bytes.NewReader(question), func(body io.Reader) error {
		exit, err = readExec(body, stdout, stderr)
		return err
	})
	if err == nil && exit.Error != "" {
		err = errors.New(exit.Error)
	}
	if err != nil {
		return exit.Code, fmt.Errorf("run %s: %w", strings.Join(e.Argv, " "), err)
	}
	return exit.Code, nil
}

func readExec(body io.Reader, stdout, stderr io.Writer) (Exit, error) {
	for {
		kind, content, err := ReadFrame(body)
		switch {
		case errors.Is(err, io.EOF):
			return Exit{}, io.ErrUnexpectedEOF
		case err != nil:
			return Exit{}, err
		case kind == Exited:
			var exit Exit
			return exit, json.Unmarshal(content, &exit)
		case kind == Stdout:
			_, err = stdout.Write(content)
		case kind == Stderr:
			_, err = stderr.Write(content)
		}
		if err != nil {
			return Exit{}, err
		}
	}
}

// PutFile writes a file of the machine, and the folders that it needs.
func (c *Client) PutFile(ctx context.Context, path string, mode fs.FileMode, content io.Reader) error {
	query := fmt.Sprintf("?mode=%#o", mode.Perm())
	return c.do(ctx, http.MethodPut, filePath(path)+query, content, nothing)
}

// GetFile copies a file of the machine to w.
func (c *Client) GetFile(ctx context.Context, path string, w io.Writer) error {
	return c.do(ctx, http.MethodGet, filePath(path), nil, func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	})
}

func filePath(path string) string {
	u := url.URL{Path: FilePath + strings.TrimPrefix(path, "/")}
	return u.EscapedPath()
}

// Service stops or starts a service, and returns when that is done.
func (c *Client) Service(ctx context.Context, order ServiceOrder) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, ServicePath, bytes.NewReader(text), nothing)
}

// PowerOff asks the machine to switch itself off.
func (c *Client) PowerOff(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, PowerOffPath, nil, nothing)
}

func nothing(io.Reader) error { return nil }

// refusal is an answer other than success. Where the path was not found it is fs.ErrNotExist, too.
type refusal struct {
	asked  string
	code   int
	status string
	words  string
}

var errRefused = errors.New("the agent refused")

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: the agent answered %s: %s", r.asked, r.status, r.words)
}

func (r *refusal) Is(target error) bool {
	return target == errRefused || target == fs.ErrNotExist && r.code == http.StatusNotFound
}

// do asks the agent and hands the body of its answer to read.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		words, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return &refusal{method + " " + path, answer.StatusCode, answer.Status, string(bytes.TrimSpace(words))}
	}
	return read(answer.Body)
}
