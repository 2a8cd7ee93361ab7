package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	devtools "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// width of the window, in CSS pixels.
const width = 1120

// drawn is true when the page has drawn its charts.
const drawn = `document.documentElement.dataset.drawn === "yes"`

// only leaves the head of the page and the sections of a picture.
const only = `(() => {
	const wanted = %q.split(" ");
	for (const part of document.querySelectorAll("main > *, footer, nav")) part.hidden = !wanted.includes(part.id);
	for (const part of document.querySelectorAll("[hidden]")) part.style.display = "none";
	return Math.ceil(document.querySelector("main").getBoundingClientRect().bottom) + 20;
})()`

// write runs the commands and takes two pictures of the page that they write, for light and for dark mode.
func (p page) write(ctx context.Context) error {
	dir, done, err := place(p.Files)
	if err != nil {
		return err
	}
	defer done()
	for _, command := range p.Commands {
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		var exited *exec.ExitError // the findings of a page are no error
		if err := cmd.Run(); err != nil && !errors.As(err, &exited) {
			return err
		}
	}
	file, err := filepath.Abs(filepath.Join(dir, "page.html"))
	if err != nil {
		return err
	}
	for _, scheme := range []string{"light", "dark"} {
		text, err := p.shoot(ctx, "file://"+file, scheme)
		if err != nil {
			return err
		}
		if err := store(p.Name+"-"+scheme+".webp", text); err != nil {
			return err
		}
	}
	return nil
}

// shoot returns a screenshot in WebP.
func (p page) shoot(ctx context.Context, url, scheme string) ([]byte, error) {
	ctx, stop := chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(chromedp.NoSandbox))
	defer stop()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	err := chromedp.Do(ctx,
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
			return err
		}),
		chromedp.EmulateViewport(width, 900, chromedp.EmulateScale(1.5)),
		chromedp.Navigate(url),
	)
	if err != nil {
		return nil, fmt.Errorf("open the page in Chromium (apt-get install chromium): %w", err)
	}
	ctx, stop = context.WithTimeout(ctx, time.Minute)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](drawn)); err != nil {
		return nil, err
	}
	height, err := chromedp.Run(ctx, chromedp.Evaluate[float64](fmt.Sprintf(only, strings.Join(p.Sections, " "))))
	if err != nil {
		return nil, err
	}
	return chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		quality, beyond := int64(85), true
		shot, err := cdp.Call(ctx, t, devtools.CaptureScreenshot, devtools.CaptureScreenshotParams{
			Format:                devtools.CaptureScreenshotFormatWebp,
			Quality:               &quality,
			CaptureBeyondViewport: &beyond,
			Clip:                  &devtools.Viewport{Width: width, Height: height, Scale: 1},
		})
		return shot.Data, err
	})
}
