package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to
use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`
	gpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public
License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY WARRANTY; without even the implied warranty of
MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE. See the GNU General Public License for more details.

You should have received a copy of the GNU General Public License along with this program. If not, see
<https://www.gnu.org/licenses/>.
`
)

// TestLicences asserts which modules are refused, and that the error names them and their licence.
func TestLicences(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		refused string
	}{
		{"MIT", map[string]string{"LICENSE": mit, "main.go": "package main"}, ""},
		{"MIT with a notice", map[string]string{"licence.txt": mit, "NOTICE": "Copyright 2000 A. Person"}, ""},
		{"GPL", map[string]string{"LICENSE": gpl}, "LICENSE has the licence GPL-3.0"},
		{"GPL and MIT", map[string]string{"LICENSE": mit, "COPYING.gpl": gpl}, "COPYING.gpl has the licence GPL-3.0"},
		{"GPL in a notice", map[string]string{"LICENSE": mit, "NOTICE": gpl}, "NOTICE has the licence GPL-3.0"},
		{"MIT and terms of its own", map[string]string{"LICENSE": mit + strings.Repeat("You must also pay. ", 50)}, "% of LICENSE is"},
		{"terms of its own", map[string]string{"LICENSE": "All rights reserved."}, "0 % of LICENSE is"},
		{"no licence", map[string]string{"main.go": "package main"}, "has no file with a licence"},
		{"notice alone", map[string]string{"NOTICE": "Copyright 2000 A. Person"}, "has no file with a licence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text, err := licences([]module{{"example.com/judged", "v1.2.3", folder}})
			switch {
			case c.refused == "" && (err != nil || !strings.Contains(string(text), mit)):
				t.Errorf("error %v, and the text\n%s", err, text)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) ||
				!strings.Contains(err.Error(), "example.com/judged v1.2.3")):
				t.Errorf("error %v, want %s", err, c.refused)
			}
		})
	}
}

// TestModules asserts that modulesOf finds, without a build, exactly the modules that a built program names.
func TestModules(t *testing.T) {
	const root, pod = "../..", "./cmd/railhead-pod"
	program := filepath.Join(t.TempDir(), "railhead-pod")
	if _, err := goCommand(root, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"}, "build", "-o", program, pod); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	built, err := modulesIn(root, []platform{{"linux", "arm64", []file{{"railhead-pod", 0o755, data}}}})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := modulesOf(root, []string{"linux/arm64"}, pod)
	if err != nil || len(listed) < 2 || !slices.Equal(built, listed) {
		t.Errorf("built: %v\nlisted: %v, %v", built, listed, err)
	}
}

// TestLicencesOfThisRepository asserts that today's modules can be passed on.
func TestLicencesOfThisRepository(t *testing.T) {
	if err := checkLicences("../..", []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}); err != nil {
		t.Error(err)
	}
}
