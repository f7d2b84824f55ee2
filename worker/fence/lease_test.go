package fence

import "testing"

func TestTheNameOfAHubsLease(t *testing.T) {
	for origin, want := range map[string]string{
		"multikueue": "switchyard-hub-multikueue",
		"eu-1.prod":  "switchyard-hub-eu-1.prod",
		"EU_1":       "switchyard-hub-eu-1-42f8507d",
		"a.-b":       "switchyard-hub-a--b-cf3cd0bc",
		"a..b":       "switchyard-hub-a--b-f62b4241",
	} {
		if got := LeaseName(origin); got != want {
			t.Errorf("%s: got %s", origin, got)
		}
	}
}
