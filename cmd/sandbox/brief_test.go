package main

import "testing"

func TestAReasonIsShortenedToWhatTheJobIsShortOf(t *testing.T) {
	cases := []struct{ name, why, want string }{
		{
			"flavors that were not asked for are left out",
			"couldn't assign flavors to pod set workers: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed, " +
				"flavor a100 doesn't match the node selector, flavor l4 doesn't match node affinity",
			"workers: needs 8 more nvidia.com/gpu in h100",
		},
		{
			"every flavor that could be had is named",
			"couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed, " +
				"insufficient unused quota for nvidia.com/gpu in flavor l4, 2 more needed",
			"main: needs 4 more nvidia.com/gpu in h100, needs 2 more nvidia.com/gpu in l4",
		},
		{
			"a job that no flavor matches says so",
			"couldn't assign flavors to pod set main: flavor h100 doesn't match the node selector",
			"main: flavor h100 doesn't match the node selector",
		},
		{"other reasons stay as they are", "ClusterQueue vision is inactive", "ClusterQueue vision is inactive"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := briefReason(c.why); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
