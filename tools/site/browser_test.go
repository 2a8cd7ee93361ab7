package main

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/railhead/railhead/tools/chromium"
)

// shown are pages of every kind.
var shown = []string{
	"index.html",
	"guide-users.html",
	"troubleshooting.html",
	"checks/index.html",
	"checks/memlock-limit.html",
	"reference/railhead/deploy.html",
	"reference/railhead-pod/index.html",
}

func TestMain(m *testing.M) { os.Exit(chromium.Main(m)) }

// TestBrowser reads the site from files: in the light and in the dark, in a wide window and on a phone.
func TestBrowser(t *testing.T) {
	folder := built(t)
	b := chromium.New(t)
	backgrounds := map[string]bool{}
	for _, name := range shown {
		b.Open("file://" + folder + "/" + name)
		for _, look := range []struct {
			name   string
			width  int
			scheme string
		}{{"light", 1440, "light"}, {"dark", 1440, "dark"}, {"phone", 390, "light"}, {"phone-dark", 390, "dark"}} {
			b.Look(look.width, 900, "screen", look.scheme)
			if wide := b.Eval(`document.documentElement.scrollWidth`); wide != strconv.Itoa(look.width) {
				t.Errorf("%s is %s wide in the %s window of %d", name, wide, look.name, look.width)
			}
			backgrounds[look.scheme+b.Eval(`getComputedStyle(document.body).backgroundColor`)] = true
			keepShot(b, strings.ReplaceAll(name, "/", "-")+"-"+look.name)
		}
		quiet(t, b, "file://"+folder+"/")
	}
	if want := map[string]bool{`light"rgb(255, 255, 255)"`: true, `dark"rgb(15, 21, 27)"`: true}; len(backgrounds) != len(want) {
		t.Errorf("backgrounds are %v, want %v", backgrounds, want)
	}
}

// TestEveryPage reads every page on a phone: none is wider than its window, or asks for anything from elsewhere.
func TestEveryPage(t *testing.T) {
	folder := built(t)
	b := chromium.New(t)
	b.Look(390, 900, "screen", "light")
	pages := 0
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		pages++
		b.Open("file://" + path)
		if wide := b.Eval(`document.documentElement.scrollWidth`); wide != "390" {
			t.Errorf("%s is %s wide in a window of 390", strings.TrimPrefix(path, folder), wide)
		}
		return nil
	})
	if err != nil || pages < 200 {
		t.Fatalf("%d pages, %v", pages, err)
	}
	quiet(t, b, "file://"+folder+"/")
}

// TestBrowserUse searches and opens the menu, from a server that answers only for the site.
func TestBrowserUse(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(built(t))))
	defer server.Close()
	b := chromium.New(t)
	b.Look(1440, 900, "screen", "light")
	b.Open(server.URL + "/reference/railhead/deploy.html")
	search(b, "memlock-limit")
	b.WaitFor(`document.querySelector("#results a")?.pathname === "/checks/memlock-limit.html"`)
	search(b, "gid_index slot")
	b.WaitFor(`document.querySelectorAll("#results mark").length > 1`)
	search(b, "no such words (*")
	b.WaitFor(`document.querySelector("#results .none")`)
	search(b, "iommu passthrough")
	b.WaitFor(`document.querySelector("#results a")?.pathname === "/iommu.html"`)
	b.Eval(`addEventListener("click", (event) => {
		event.preventDefault(); // the test would lose the page
		window.opened = event.target.closest("a").pathname;
	})`)
	b.Eval(`document.querySelector("#search input").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }))`)
	if opened := b.Eval(`window.opened`); opened != `"/iommu.html"` {
		t.Errorf("Enter opens %s", opened)
	}
	quiet(t, b, server.URL+"/")

	b.Look(390, 800, "screen", "light")
	const shown = `getComputedStyle(document.getElementById("navigation")).display`
	if display := b.Eval(shown); display != `"none"` {
		t.Errorf("the navigation of a phone is %s before its menu is opened", display)
	}
	b.Eval(`document.getElementById("menu").click()`)
	if display := b.Eval(shown); display != `"block"` {
		t.Errorf("the navigation of a phone is %s after its menu was opened", display)
	}
	keepShot(b, "menu")
	b.Look(1440, 900, "screen", "light")
	search(b, "lost connection")
	b.WaitFor(`document.querySelector("#results a")`)
	keepShot(b, "search")
}

func keepShot(b *chromium.Browser, name string) {
	if *keep != "" {
		b.Shoot(filepath.Join(*keep, name+".png"))
	}
}

func search(b *chromium.Browser, words string) {
	b.Eval(`{
		const input = document.querySelector("#search input");
		input.value = "` + words + `";
		input.dispatchEvent(new Event("input"));
	}`)
}

// quiet fails if the page loaded anything from elsewhere, or if the console has errors.
func quiet(t *testing.T, b *chromium.Browser, site string) {
	t.Helper()
	if len(b.Asked) == 0 {
		t.Error("no request was seen")
	}
	for _, url := range b.Asked {
		if !strings.HasPrefix(url, site) && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asks for %s", url)
		}
	}
	for _, said := range b.Said {
		t.Errorf("on the console: %s", said)
	}
}
