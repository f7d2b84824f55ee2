package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAChecksMessageIsTakenApartClusterByCluster(t *testing.T) {
	waits, verdicts := ParseClusterResults(`no cluster has admitted it; yet; "w1" waits for quota: couldn't assign; "x" said; "w2" cannot be reached`,
		[]string{"w1", "w2"})
	if waits != "no cluster has admitted it; yet" {
		t.Errorf("%q", waits)
	}
	want := []PlacementResult{{"w1", `waits for quota: couldn't assign; "x" said`}, {"w2", "cannot be reached"}}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Error(diff)
	}
}

func TestAMessageWithoutClustersIsWhatIsWaitedFor(t *testing.T) {
	waits, verdicts := ParseClusterResults(`The workload was admitted on "w1"`, []string{"w1"})
	if waits != `The workload was admitted on "w1"` || verdicts != nil {
		t.Errorf("%q %v", waits, verdicts)
	}
}

func TestTheWordsOfThePublicAPIAreTakenApartToo(t *testing.T) {
	got := ParseFlavorResults("couldn't assign flavors to pod set main: insufficient quota for cpu in flavor l4, previously considered podsets " +
		"requests (0) + current podset request (16) > maximum capacity (8), insufficient quota for cpu in flavor t4, previously considered " +
		"podsets requests (2) + current podset request (7) > maximum capacity (8), untolerated taint {gpu  NoSchedule <nil>} in flavor a, " +
		"flavor b doesn't match node affinity, flavor c not found")
	want := []FlavorResult{
		{"l4", "cpu", "never: 16 requested, at most 8 possible"}, {"t4", "cpu", "never: 7 requested, at most 8 possible, 2 of it for other pod sets"},
		{"a", "", "untolerated taint {gpu  NoSchedule <nil>}"}, {"b", "", "doesn't match node affinity"}, {"c", "", "not found"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMessageAboutQuotaIsTakenApartFlavorByFlavor(t *testing.T) {
	got := ParseFlavorResults("couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed, " +
		"insufficient unused quota for cpu in flavor h100, 500m more needed, request for nvidia.com/gpu in flavor l4 exceeds the maximum quota: " +
		"16 requested, at most 8 possible, untolerated taint gpu=yes:NoSchedule in flavor a, flavor b doesn't match the node selector")
	want := []FlavorResult{
		{"h100", "nvidia.com/gpu", "4 more needed than is unused"}, {"h100", "cpu", "500m more needed than is unused"},
		{"l4", "nvidia.com/gpu", "never: 16 requested, at most 8 possible"},
		{"a", "", "untolerated taint gpu=yes:NoSchedule"}, {"b", "", "doesn't match the node selector"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
