package view

import (
	"testing"
	"time"
)

// An etcd that was restored from a backup shows versions older than the answers to our writes, for ever.
func TestAVersionThatStaysOlderThanOurWriteIsAcceptedAfterAWhile(t *testing.T) {
	v, _, written := newAssumedView(t)
	v.RecordWrite(written)
	setObjects(v, testWorkload("w", 3, 7))
	if v.LookupPending(keyOf("ns", "w")) != nil {
		t.Fatal("an older version is history at first")
	}
	if batch := runCycle(v, baseTime); !batch.NextCycleAt.Equal(baseTime.Add(maxInformerLag)) {
		t.Fatalf("the next cycle is at %v, want one when the older version counts", batch.NextCycleAt)
	}
	batch := runCycle(v, baseTime.Add(maxInformerLag))
	if len(batch.Admit) != 1 || batch.Admit[0].Object.ResourceVersion != "7" {
		t.Errorf("the reservation is undone on the server, but nobody makes it again: %+v", batch)
	}
}

func TestAnInformerThatCatchesUpInTimeUndoesNothing(t *testing.T) {
	for name, end := range map[string]func(v *View){
		"it shows our write":  func(v *View) { setObjects(v, setReservation(testWorkload("w", 3, 20), "cq", "red")) },
		"it shows a later":    func(v *View) { setObjects(v, setReservation(testWorkload("w", 3, 21), "cq", "red")) },
		"the object vanishes": func(v *View) { handleLocked(v, testWorkload("w", 3, 21), v.deleteWorkload) },
	} {
		t.Run(name, func(t *testing.T) {
			v, _, written := newAssumedView(t)
			v.RecordWrite(written)
			setObjects(v, testWorkload("w", 3, 7))
			runCycle(v, baseTime)
			end(v)
			if batch := runCycle(v, baseTime.Add(2*maxInformerLag)); len(batch.Admit) > 0 || len(v.lagging) > 0 || !batch.NextCycleAt.Before(time.Unix(1, 0)) {
				t.Errorf("got %+v, late %v", batch, v.lagging)
			}
		})
	}
}
