package html

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/railhead/railhead/internal/bench"
	"github.com/railhead/railhead/internal/check"
	"github.com/railhead/railhead/tools/chromium"
)

func TestMain(m *testing.M) { os.Exit(chromium.Main(m)) }

// TestBrowser opens the pages from files, like mail attachments.
func TestBrowser(t *testing.T) {
	b := chromium.New(t)
	for name, p := range pages(t) {
		t.Run(name, func(t *testing.T) {
			b.T = t
			file := written(t, name, p)
			b.Look(1280, 900, "screen", "dark")
			open(b, "file://"+file)
			shoot(b, name+"-dark")
			b.Look(1280, 900, "screen", "light")
			const light = `(chart) => [theme().ink, theme().muted].some((colour) => chart.outerHTML.includes(colour))`
			b.WaitFor(`[...document.querySelectorAll(".chart svg")].every(` + light + `)`)
			shoot(b, name+"-light")
			quietly(t, b, file)
			const empty = `.filter((chart) => !chart.querySelector("svg, canvas")).length`
			if left := b.Eval(`[...document.querySelectorAll(".chart")]` + empty); left != "0" {
				t.Errorf("%s charts are not drawn", left)
			}
			if wide := b.Eval(`document.documentElement.scrollWidth`); wide != "1280" {
				t.Errorf("the page is %s wide in a window of 1280", wide)
			}
			b.Look(390, 900, "screen", "light")
			const charts = `[...document.querySelectorAll(":is(section, .motions > div) > .chart > div:first-child")]`
			b.WaitFor(charts + `.every((chart) => chart.clientWidth <= 390)`)
			if wide := b.Eval(`document.documentElement.scrollWidth`); wide != "390" {
				t.Errorf("the page is %s wide on a phone of 390", wide)
			}
			shoot(b, name+"-phone")
		})
	}
}

// open loads a page and waits until its charts are drawn.
func open(b *chromium.Browser, url string) {
	b.T.Helper()
	b.Open(url)
	b.WaitFor(
		`document.documentElement.dataset.drawn === "yes" || document.getElementById("trouble")?.hidden === false`,
	)
	if trouble := b.Eval(`document.getElementById("trouble").textContent`); trouble != `""` {
		b.T.Error(trouble)
	}
}

// shoot saves a screenshot of the whole page if -keep is set.
func shoot(b *chromium.Browser, name string) {
	b.T.Helper()
	if *keep != "" {
		b.Shoot(*keep + "/" + name + ".png")
	}
}

// quietly fails if the page requested anything but itself, or if the console has errors.
func quietly(t *testing.T, b *chromium.Browser, file string) {
	t.Helper()
	for _, url := range b.Asked {
		if url != "file://"+file && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asks for %s", url)
		}
	}
	for _, said := range b.Said {
		t.Errorf("on the console: %s", said)
	}
}

// huge is a page of 1,024 pods with 8 rails: 4.2 million links.
func huge() Page {
	return FromBench(simulated(1024, 8, slowNIC(700, 2, 0.5), badCable(33, 907, 6, 0.1)), "bench-1024.json")
}

// A huge page has at most 5 MB, and its map can be read.
func TestBrowserHuge(t *testing.T) {
	file := written(t, "1024-pods", huge())
	about, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if about.Size() > 5_000_000 {
		t.Errorf("%d bytes, want at most 5,000,000", about.Size())
	}
	b := chromium.New(t)
	b.Look(1280, 900, "screen", "light")
	open(b, "file://"+file)
	quietly(t, b, file)
	shoot(b, "1024-pods-light")
	b.Eval(`document.querySelectorAll(".mark-button")[1].click()`)
	if said := b.Eval(`document.querySelector(".readout").textContent`); !strings.Contains(
		said,
		"h-kim-33 to h-kim-907 on rail rail6",
	) {
		t.Errorf("the map does not show the bad cable: %s", said)
	}
	quietly(t, b, file)
	shoot(b, "1024-pods-closer")
}

// BenchmarkBrowserHuge wants the first paint of a huge page to take at most four times as long as that of a page of 4
// pods: readers see the result before the charts of millions of links. The fastest of each counts.
func BenchmarkBrowserHuge(b *testing.B) {
	const most = 4
	files := []string{
		written(b, "4-pods", FromBench(simulated(4, 8), "bench-4.json")), written(b, "1024-pods", huge()),
	}
	browser := chromium.New(b)
	best := []float64{math.Inf(1), math.Inf(1)} // milliseconds
	for b.Loop() {
		for i, file := range files { // in turn, so that all see the same disturbances
			open(browser, "file://"+file)
			at := browser.Eval(`performance.getEntriesByName("first-contentful-paint")[0].startTime`)
			paint, err := strconv.ParseFloat(at, 64)
			if err != nil {
				b.Fatal(err)
			}
			best[i] = min(best[i], paint)
		}
	}
	ratio := best[1] / best[0]
	b.ReportMetric(best[1], "ms-first-paint")
	b.ReportMetric(ratio, "huge/small")
	if ratio > most {
		b.Errorf("first paint after %.0f ms, %.1f times as long as with 4 pods", best[1], ratio)
	}
}

// A page that a server renews shows the new result and keeps the selections of the reader.
func TestBrowserLive(t *testing.T) {
	events := make(chan string)
	now := withLadders(simulated(4, 2))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			if err := WriteLive(w, FromBench(now, "bench.json"), "/events"); err != nil {
				t.Error(err)
			}
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case text := <-events:
				_, _ = io.WriteString(w, "data: "+text+"\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	b := chromium.New(t)
	defer server.CloseClientConnections()
	b.Look(1280, 900, "screen", "light")
	open(b, server.URL+"/")
	b.Eval(`{
		const choice = document.getElementById("ladder-choice");
		choice.value = 1;
		choice.onchange();
		document.querySelector("#ladder details").open = true;
	}`)
	now = withLadders(simulated(4, 2, slowNIC(1, 0, 0.3)))
	events <- "1"
	b.WaitFor(`document.querySelectorAll(".mark-button").length === 1 && document.querySelector(".map svg")`)
	for expression, want := range map[string]string{
		`document.getElementById("ladder-choice").value`: `"1"`,
		`document.querySelector("#ladder details").open`: "true",
		`document.title`: `"Fail: Job h-kim (simulated: 4 pods) in namespace train"`,
		`document.querySelectorAll("#data").length`:                       "1",
		`document.getElementById("live").textContent`:                     `"live"`,
		`document.querySelectorAll(".chart").length === drawn.size`:       "true",
		`[...drawn.keys()].every((element) => element.isConnected)`:       "true",
		`[...drawn.values()].every((p) => p.chart && !p.chart._disposed)`: "true",
	} {
		if got := b.Eval(expression); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	for _, url := range b.Asked {
		if !strings.HasPrefix(url, server.URL) && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.Said) > 0 {
		t.Errorf("on the console: %s", b.Said)
	}
}

// Names with markup appear as text everywhere.
func TestBrowserForeign(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>{a|b}</script><script>alert(2)</script>`
	r := withLadders(simulated(3, 2, slowNIC(1, 0, 0.3)))
	r.Job = evil
	for i := range r.Pods {
		r.Pods[i].Name, r.Pods[i].Node, r.Pods[i].Rails[0].Netdev = evil, evil, evil
		r.Matrix.Pods[i] = bench.MatrixPod{Name: evil, Node: evil}
	}
	r.Matrix.Rails[0].Name = evil
	r.AllReduces[0].Proof, r.AllReduces[0].Tool = evil, evil
	r.Findings = []check.Finding{
		{
			Check:   evil,
			Status:  check.Fail,
			Subject: check.Named(check.Text, evil),
			Summary: evil,
			Fix:     &check.Fix{Text: evil, Commands: []string{evil}},
		},
	}
	b := chromium.New(t)
	b.Look(1280, 900, "screen", "light")
	file := written(t, "foreign", FromBench(r, evil))
	open(b, "file://"+file)
	b.Eval(`for (const p of drawn.values())
		for (let i = 0; i < 8; i++) p.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: i })`)
	b.WaitFor(`[...document.querySelectorAll(".chart > div + div")].some((tip) => tip.textContent.includes("onerror"))`)
	quietly(t, b, file)
	if made := b.Eval(`document.querySelectorAll("img").length`); made != "0" {
		t.Errorf("%s images were created from names", made)
	}
}

// Printed charts fit the width of the paper and have light colours.
func TestBrowserPrint(t *testing.T) {
	b := chromium.New(t)
	b.Look(1280, 900, "screen", "dark")
	open(b, "file://"+written(t, "print", pages(t)["4-pods"]))
	b.Look(1280, 900, "print", "dark")
	b.WaitFor(`[...document.querySelectorAll(".chart > div:first-child")].every((d) => d.clientWidth <= 650)`)
	if paper := b.Eval(`getComputedStyle(document.body).backgroundColor`); paper != `"rgb(255, 255, 255)"` {
		t.Errorf("paper is %s", paper)
	}
	if left := b.Eval(`document.querySelectorAll(".chart canvas").length`); left != "0" {
		t.Errorf("%s charts are printed as pixels", left)
	}
}
