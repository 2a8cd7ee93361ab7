package explain

import (
	"encoding/json"
	"testing"

	"github.com/railhead/railhead/internal/story"
)

// FuzzStory judges whole logs: no panic, and a story that says something of every run.
func FuzzStory(f *testing.F) {
	for _, fixture := range fixtures(f) {
		f.Add(fixture.files[fixture.names[0]])
	}
	f.Fuzz(func(t *testing.T, log string) {
		told := Log(parsed("a.log", []byte(log)))
		if len(told.Runs) == 0 {
			t.Error("no run")
		}
		for _, r := range told.Runs {
			if r.Causes == nil || r.Victims == nil || r.Network.Evidence == nil || r.Outcome == "" ||
				r.Network.Kind == "" || r.GPUDirect == "" || r.Summary == "" {
				t.Errorf("%+v", r)
			}
			if (r.Outcome == story.OutcomeFail || r.Outcome == story.OutcomeFallback) && len(r.Causes) == 0 {
				t.Errorf("%s without a cause: %s", r.Outcome, r.Summary)
			}
		}
		if _, err := json.Marshal(told); err != nil {
			t.Error(err)
		}
	})
}
