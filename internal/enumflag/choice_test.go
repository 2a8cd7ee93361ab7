package enumflag

import "testing"

func TestSet(t *testing.T) {
	format := "text"
	v := New(&format, "text", "json")
	if err := v.Set("json"); err != nil || v.String() != "json" || format != "json" {
		t.Errorf("%q, %v", format, err)
	}
	if err := v.Set("xml"); err == nil || err.Error() != "must be one of text, json" || format != "json" {
		t.Errorf("%q, %v", format, err)
	}
	if v.Type() != "text|json" {
		t.Errorf("type %q", v.Type())
	}
}
