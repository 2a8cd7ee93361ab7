// Package chromium controls a headless browser, for tests of pages.
package chromium

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Browser is a page of a headless browser, controlled by the DevTools protocol over a pipe.
type Browser struct {
	T     testing.TB
	Asked []string // URLs that the page requested
	Said  []string // errors and warnings on the console, and violations of the policy

	cmd    *exec.Cmd
	folder string
	to     io.WriteCloser
	from   *bufio.Reader
	last   int
	page   string // session

	patience *time.Timer // kills the browser
}

// hang is a time that only a browser takes that hangs.
const hang = 5 * time.Minute

// shared is the browser of this test binary: to start one costs as much as ten pages.
var shared struct {
	allowed bool
	running *Browser
}

// Main runs the tests of a package, and ends the browser that they share. They must not run in parallel.
func Main(m *testing.M) int {
	shared.allowed = true
	code := m.Run()
	if shared.running != nil {
		shared.running.close()
	}
	return code
}

type event struct {
	ID        int
	Method    string
	SessionID string `json:"sessionId"`
	Params    json.RawMessage
	Result    json.RawMessage
	Error     *struct{ Message string }
}

// New returns the browser, with an empty page. TestMain must call Main. It skips the test if none is installed.
func New(t testing.TB) *Browser {
	t.Helper()
	if !shared.allowed {
		t.Fatal("TestMain does not call chromium.Main")
	}
	if shared.running == nil {
		shared.running = start(t)
	}
	b := shared.running
	b.T = t
	b.patience.Reset(hang)
	t.Cleanup(func() {
		b.patience.Stop()
		if t.Failed() { // perhaps because of the browser
			shared.running = nil
			b.close()
		}
	})
	if b.page == "" {
		b.openPage()
	}
	b.do("Emulation.clearDeviceMetricsOverride", nil)
	b.do("Emulation.setEmulatedMedia", nil)
	b.Open("about:blank")
	return b
}

func (b *Browser) openPage() {
	var target struct{ TargetID, SessionID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.page = target.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.do(domain+".enable", nil)
	}
}

// programs are browsers, the quickest first: the shell has no windows, nor what only these need.
var programs = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"}

func start(t testing.TB) *Browser {
	t.Helper()
	program := ""
	for _, name := range programs {
		if at, err := exec.LookPath(name); err == nil {
			program = at
			break
		}
	}
	if program == "" {
		t.Skip("Chromium is not installed: apt-get install chromium-headless-shell")
	}
	folder, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	fromUs, to := pipe(t)
	from, toUs := pipe(t)
	cmd := exec.Command(
		program,
		"--headless=new",
		"--no-sandbox",
		"--disable-gpu",
		"--remote-debugging-pipe",
		"--user-data-dir="+folder,
		"--no-first-run",
		"--disable-background-networking",
		"--hide-scrollbars",
		"--disable-dev-shm-usage",
		"--no-startup-window",
	)
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = fromUs.Close()
	_ = toUs.Close()
	return &Browser{
		cmd: cmd, folder: folder, to: to, from: bufio.NewReaderSize(from, 1<<20),
		patience: time.AfterFunc(hang, func() { _ = cmd.Process.Kill() }),
	}
}

// close ends the browser, which exits when nobody can talk to it any more.
func (b *Browser) close() {
	_ = b.to.Close()
	patience := time.AfterFunc(10*time.Second, func() { _ = b.cmd.Process.Kill() })
	_ = b.cmd.Wait()
	patience.Stop()
	_ = os.RemoveAll(b.folder)
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func (b *Browser) do(method string, params map[string]any) { b.call(b.page, method, params, nil) }

// call waits for the answer and records the events before it.
func (b *Browser) call(session, method string, params map[string]any, result any) {
	b.T.Helper()
	b.patience.Reset(hang)
	b.last++
	message, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params, "sessionId": session})
	if session == "" {
		message, err = json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.to.Write(append(message, 0))
	}
	if err != nil {
		b.T.Fatal(err)
	}
	for {
		e := b.next()
		if e.ID != b.last {
			b.note(e)
			continue
		}
		if e.Error != nil {
			b.T.Fatalf("%s: %s", method, e.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(e.Result, result); err != nil {
				b.T.Fatal(err)
			}
		}
		return
	}
}

func (b *Browser) next() event {
	b.T.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.T.Fatalf("chromium exited: %v", err)
	}
	var e event
	if err := json.Unmarshal(text[:len(text)-1], &e); err != nil {
		b.T.Fatal(err)
	}
	return e
}

func (b *Browser) note(e event) {
	switch e.Method {
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		_ = json.Unmarshal(e.Params, &p)
		b.Asked = append(b.Asked, p.Request.URL)
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
		b.Said = append(b.Said, string(e.Params))
	}
}

// Open loads a page and waits until it is loaded.
func (b *Browser) Open(url string) {
	b.T.Helper()
	b.Asked, b.Said = nil, nil
	b.do("Page.navigate", map[string]any{"url": url})
	b.WaitFor(`document.readyState === "complete"`)
}

// WaitFor waits until an expression is true, frame by frame.
func (b *Browser) WaitFor(expression string) {
	b.T.Helper()
	deadline := time.Now().Add(hang)
	for b.Eval(fmt.Sprintf(`new Promise((done) => setTimeout(() => done(Boolean(%s)), 20))`, expression)) != "true" {
		if time.Now().After(deadline) {
			b.T.Fatalf("%s is not true after %v; console: %s", expression, hang, strings.Join(b.Said, "\n"))
		}
	}
}

// Eval returns the value of an expression as JSON.
func (b *Browser) Eval(expression string) string {
	b.T.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	b.call(
		b.page,
		"Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&answer,
	)
	if answer.ExceptionDetails != nil {
		b.T.Fatalf("%s: %s", expression, answer.ExceptionDetails.Text)
	}
	return string(answer.Result.Value)
}

// Look sets the size of the window and the appearance: light, dark or print.
func (b *Browser) Look(width, height int, media, scheme string) {
	b.do(
		"Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false},
	)
	b.do(
		"Emulation.setEmulatedMedia",
		map[string]any{
			"media":    media,
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
		},
	)
}

// Shoot saves a screenshot of the whole page in a file.
func (b *Browser) Shoot(file string) {
	b.T.Helper()
	var shot struct{ Data []byte }
	b.call(b.page, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(file, shot.Data, 0o644); err != nil {
		b.T.Fatal(err)
	}
}
