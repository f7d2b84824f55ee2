package manager

import (
	"bytes"
	"strings"
	"testing"
)

func TestALoggerWritesTheFieldsItWasGiven(t *testing.T) {
	var out bytes.Buffer
	log := options{}.logger(&out)
	log.V(1).WithValues("never", "seen").Info("quiet")
	one := log.WithName("part").WithValues("workload", "team/w")
	other := one.WithValues("queue", "a")
	one.WithValues("queue", "b").Info("first", "n", 1)
	other.Info("second")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, want := range []string{`"workload":"team/w","queue":"b","n":1`, `"workload":"team/w","queue":"a"`} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], `"logger":"part"`) {
			t.Errorf("%s lacks %s", lines[i], want)
		}
	}
}

func BenchmarkALoggerWithFieldsThatLogsNothing(b *testing.B) {
	log := options{}.logger(&bytes.Buffer{})
	b.ReportAllocs()
	for b.Loop() {
		log.WithValues("controller", "workload", "namespace", "team", "name", "w").V(5).Info("nothing")
	}
}
