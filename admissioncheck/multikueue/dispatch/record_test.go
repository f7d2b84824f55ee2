package dispatch

import "testing"

// A record that a client has dropped is missed at every write that begins an epoch: afterwards it would look as if there had been
// nothing to know.
func TestAnEpochThatBeginsWithoutTheRecordSuspectsEverybody(t *testing.T) {
	const others = "w1 up copy@2 admitted adopted job@2 \n w2 lost@1h \n w3 up"
	runStepCases(t, []stepCase{
		{
			"evicted while bound", "bound w1", "quota Ready evicted evictions=2", others,
			`LocalEvicted; epoch 3; owed w1@2 w2@2 w3@2`,
		},
		{
			"evicted while offered", "nominated w1", "quota evicted evictions=2", "w1 up copy@1 \n w2 lost@1h",
			"LocalEvicted; epoch 3; nominated; owed w1@2 w2@2",
		},
		{
			"its quota gone", "bound w1", "evictions=2", others, `NoQuota; epoch 3; bound; owed w1@2 w2@2 w3@2`,
		},
		{
			"being deleted", "bound w1", "kept quota Ready evictions=1", others, `Deleted; epoch 3; owed w1@2 w2@2 w3@2`,
		},
		{
			"being deleted when no cluster is bound: it is not let go as if none owed", "", "kept evictions=2", "w1 up \n w2 lost@1h",
			`Deleted; epoch 3; owed w1@2 w2@2`,
		},
		{
			"being deleted after its only eviction: no reservation follows that would show it", "", "kept evictions=1", "w1 up \n w2 lost@1h",
			`Deleted; epoch 2; owed w1@1 w2@1`,
		},
		{
			"refused", "bound w1", "quota Ready evictions=1 NotManaged by us", others,
			`NotManaged; epoch 3; owed w1@2 w2@2 w3@2; Rejected The owner is not managed by Kueue: by us, Previously: "Ready"`,
		},
		{
			"given up", "bound w1", "quota Ready evictions=1", "w1 lost@1h \n w2 up \n w3 up",
			`RemoteLost; epoch 3; owed w1@2 w2@2 w3@2; Retry Admitting remote lost`,
		},
		{
			"an older record in its place", "epoch 2 of r1; bound w1", "quota Ready evicted evictions=3", "w1 up copy@3 admitted \n w2 up",
			`LocalEvicted; epoch 4; owed w1@3 w2@3`,
		},
		{
			"offered by an external dispatcher in a reservation that was not looked at", "epoch 2 of r1; nominated w1",
			"quota r2 evicted evictions=2", "w1 up \n w2 lost@1h", "LocalEvicted; epoch 3; nominated; owed w1@2 w2@2",
		},
	})
}

func TestAnEpochThatEndsAsItsRecordSaysSuspectsNoCluster(t *testing.T) {
	runStepCases(t, []stepCase{
		{"the first eviction", "bound w1", "quota Ready evicted evictions=1", "w1 up copy@1 admitted job@1 \n w2 up", `LocalEvicted; epoch 2; owed w1@1`},
		{
			"a later one", "epoch 2 of r1; bound w1", "quota Ready evicted evictions=2", "w1 up copy@2 admitted job@2 \n w2 up",
			`LocalEvicted; epoch 3; owed w1@2`,
		},
		{"an offer", "nominated w1", "quota evicted evictions=1", "w1 up copy@1 \n w2 up", `LocalEvicted; epoch 2; nominated`},
	})
}

// What is known of a debtor is not forgotten because all clusters are suspected: nothing was offered to it since.
func TestSuspicionLeavesADebtAlone(t *testing.T) {
	runExplanationCases(t, runOnce(), []explanationCase{
		{
			"it stops without the hub", "epoch 2 of r1; owed w1@1!", "quota r2 evictions=2", "w1 lost@1m fenced@1m copy@1 stops admitted \n w2 up",
			"RecordLost; epoch 3 of r2; nominated w2; owed w1@1! w2@2",
		},
		{
			"what the last epoch made elsewhere shows whether it does", "epoch 2 of r1; owed w1@1!", "quota r2 evictions=2",
			"w1 lost@1m fenced@1m \n w2 lost@1m fenced@1m copy@2 stops admitted \n w3 up",
			"RecordLost; epoch 3 of r2; nominated w3; owed w1@1! w2@2! w3@2",
		},
		{
			"what it shows itself, and the record does not know of, is another thing", "epoch 2 of r1; owed w1@1!", "quota r1 evictions=2",
			"w1 lost@1m fenced@1m copy@2 admitted \n w2 up", "RecordLost; epoch 3 of r1; nominated w2; owed w1@2 w2@2",
		},
		{
			"without a record nothing is known", "", "quota evictions=2", "w1 lost@1m fenced@1m copy@1 stops admitted \n w2 up",
			"RecordLost; epoch 3 of r1; nominated w2; owed w1@2 w2@2",
		},
	})
}
