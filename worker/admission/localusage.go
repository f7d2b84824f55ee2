package admission

import "switchyard.dev/worker/admission/amount"

// SetLocalUsage says how much a LocalQueue used of late, in thousandths of a weighted unit; amount.Unlimited for
// infinitely much. In a queue with UsageBased it orders those who wait: the lower, the earlier, before priority
// (contract: kueue-api.md 4.14). A LocalQueue that was never mentioned used nothing.
func (s *Snapshot) SetLocalUsage(local Key, usage amount.Amount) {
	if usage == 0 {
		delete(s.localUsage, local)
	} else {
		s.localUsage[local] = usage
	}
}

// RecentUsage returns what SetLocalUsage said last.
func (s *Snapshot) RecentUsage(local Key) amount.Amount { return s.localUsage[local] }
