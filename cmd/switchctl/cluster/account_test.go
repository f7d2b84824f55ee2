package cluster

import "testing"

func TestTwoHubsOfOneWorkerHaveAccountsOfTheirOwn(t *testing.T) {
	for line, want := range map[workerFlags]string{
		{origin: "multikueue"}: "switchyard-hub", {origin: "east"}: "switchyard-hub-east", {origin: "east", name: "mine"}: "mine",
	} {
		if got := line.hubAccess(); got.ServiceAccount != want || got.Origin != line.origin {
			t.Errorf("%+v: got %+v, want account %s", line, got, want)
		}
	}
}
