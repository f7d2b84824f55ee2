package program

import "testing"

func TestAnAdministratorDecidesAboutTheCollector(t *testing.T) {
	for _, c := range []struct {
		set  string
		want int
	}{{"", headroom}, {"GOGC", 0}, {"GOMEMLIMIT", 0}, {"HOME", headroom}} {
		got := takeHeadroom(func(name string) (string, bool) { return "50", name == c.set })
		if len(got) != c.want {
			t.Errorf("with %q set: %d bytes, want %d", c.set, len(got), c.want)
		}
	}
}
