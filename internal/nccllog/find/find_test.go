package find

import "testing"

func TestParts(t *testing.T) {
	const text = "failed: [rank 12] to 10.0.0.5<33>, on dev mlx5_0:1, error: No route: host"
	for name, c := range map[string]struct{ got, want string }{
		"a word":           {WordAfter(text, "at ", "dev "), "mlx5_0:1"},
		"no word":          {WordAfter(text, "peer "), ""},
		"between":          {Between(text, "<", ">"), "33"},
		"no end":           {Between(text, "<", "|"), ""},
		"the last part":    {LastPart(text), "host"},
		"the first of two": {First(text, []string{"host", "route"}), "host"},
		"a whole rune":     {Cut("aé", 2), "a"},
		"lower, in place":  {Lower("NCCL É"), "nccl É"},
	} {
		if c.got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, c.got)
		}
	}
	if n, none := NumberAfter(text, "rank "), NumberAfter(text, "error: "); n != 12 || none != -1 {
		t.Errorf("want 12 and -1, got %d and %d", n, none)
	}
	if value, digits := Leading([]byte("1234567890")); value != 123456789 || digits != 9 {
		t.Errorf("want nine digits, got %d of %d", value, digits)
	}
}
