package cli

import (
	"strings"
	"testing"
)

func TestLaunchFlags(t *testing.T) {
	for name, c := range map[string]struct {
		flags launchFlags
		says  string
	}{
		"nothing":               {launchFlags{}, ""},
		"values of any kind":    {launchFlags{env: []string{"A=", "B=a=b,c", "_c1=x y"}}, ""},
		"no value":              {launchFlags{env: []string{"A"}}, `-e "A" is not NAME=VALUE`},
		"no name":               {launchFlags{env: []string{"=A"}}, "is not NAME=VALUE"},
		"a name with a blank":   {launchFlags{env: []string{"A B=1"}}, "is not NAME=VALUE"},
		"what ends the options": {launchFlags{env: []string{"--"}}, "is not NAME=VALUE"},
		"negative time":         {launchFlags{timeout: -1}, "cannot be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := c.flags.check(); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
				t.Errorf("got %q", got)
			}
		})
	}
}
