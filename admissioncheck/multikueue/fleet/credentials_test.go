package fleet

import "testing"

func TestCredentialsThatComeWhileTheyAreLookedForAreNotTakenForOthers(t *testing.T) {
	f := New(Options{Origin: "hub"})
	for range 20_000 {
		s := newSupervisor("w1", f)
		used := make(chan struct{})
		go func() { defer close(used); s.setCredentials(&Credentials{Fingerprint: "x"}, nil) }()
		if c, ok := s.awaitAttempt(t.Context()); !ok || c.Fingerprint != "x" {
			t.Fatalf("%v, %v", c, ok)
		}
		<-used
		if len(s.credentialsChanged) > 0 {
			t.Fatal("the attempt to connect with them would end because they have changed")
		}
	}
}
