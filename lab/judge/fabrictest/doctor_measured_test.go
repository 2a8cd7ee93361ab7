//go:build vm

package fabrictest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/railhead/railhead/lab/judge/fault"
)

// measures wants doctor to name a fault that only shows where something is measured before all else, and nothing
// else but what it finds once the fault is healed: that nothing that is emulated reaches its ceiling is true.
func measures(t *testing.T, x fault.Fault, rail string, found, healed []finding, r said) {
	t.Helper()
	fresh := beside(found, healed)
	if len(fresh) != 1 || fresh[0] != found[0] || fresh[0].Check != x.Doctor.Check || !strings.Contains(fresh[0].About, "rail "+rail) {
		t.Errorf("of %s doctor says %v, before all else %v\n%s", x.Name, fresh, found, r.err)
		return
	}
	results.mu.Lock()
	defer results.mu.Unlock()
	if results.measured == nil {
		results.measured = map[string]string{}
	}
	results.measured[x.Name] = fmt.Sprintf("`%s`, %s", x.Doctor.Check, x.Doctor.View)
}
