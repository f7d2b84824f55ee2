package view

import (
	"testing"
	"time"
)

// An etcd that was restored from a backup shows versions older than the answers to our writes, for ever.
func TestAVersionThatStaysOlderThanOurWriteIsBelievedAfterAWhile(t *testing.T) {
	v, _, written := assumed(t)
	v.Written(written)
	feedAll(v, testWorkload("w", 3, 7))
	if v.Waiting(keyOf("ns", "w")) != nil {
		t.Fatal("an older version is history at first")
	}
	if batch := runCycle(v, epoch); !batch.WakeAt.Equal(epoch.Add(catchUp)) {
		t.Fatalf("the next cycle is at %v, want one when the older version counts", batch.WakeAt)
	}
	batch := runCycle(v, epoch.Add(catchUp))
	if len(batch.Admit) != 1 || batch.Admit[0].Seen.ResourceVersion != "7" {
		t.Errorf("the reservation is undone on the server, but nobody makes it again: %+v", batch)
	}
}

func TestAnInformerThatCatchesUpInTimeUndoesNothing(t *testing.T) {
	for name, end := range map[string]func(v *View){
		"it shows our write":  func(v *View) { feedAll(v, reserve(testWorkload("w", 3, 20), "cq", "red")) },
		"it shows a later":    func(v *View) { feedAll(v, reserve(testWorkload("w", 3, 21), "cq", "red")) },
		"the object vanishes": func(v *View) { locked(v, testWorkload("w", 3, 21), v.dropWorkload) },
	} {
		t.Run(name, func(t *testing.T) {
			v, _, written := assumed(t)
			v.Written(written)
			feedAll(v, testWorkload("w", 3, 7))
			runCycle(v, epoch)
			end(v)
			if batch := runCycle(v, epoch.Add(2*catchUp)); len(batch.Admit) > 0 || len(v.late) > 0 || !batch.WakeAt.Before(time.Unix(1, 0)) {
				t.Errorf("got %+v, late %v", batch, v.late)
			}
		})
	}
}
