package dispatch

import (
	"testing"
	"time"
)

// A client that deletes a job in the background, or its namespace, does not wait for its pods. Where that matters the hub does.
func TestAJobThatIsGoneMayHavePods(t *testing.T) {
	const local = "quota r1 evictions=1 kill=30s"
	runExplanationCases(t, runOnce(), []explanationCase{
		{
			"it is noted when it was found gone", "epoch 2 of r1; nominated w2; owed w1@1", local, "w1 up live@2 \n w2 up copy@2 stops admitted",
			"Owed; owed w1@1~1s",
		},
		{
			"termination grace and margin are waited for", "epoch 2 of r1; nominated w2; owed w1@1~49s", local,
			"w1 up live@2 \n w2 up copy@2 stops admitted", "Owed; wake in 1s",
		},
		{
			"and no longer", "epoch 2 of r1; nominated w2; owed w1@1~50s", local, "w1 up live@2 \n w2 up copy@2 stops admitted",
			`Won; bound w2; stops; nominated; owed; Ready The workload was admitted on "w2"; event`,
		},
		{
			"not when they were seen to have ended", "epoch 2 of r1; nominated w2; owed w1@1", local,
			"w1 up stopped@1 live@2 \n w2 up copy@2 stops admitted",
			`Won; bound w2; stops; nominated; owed; Ready The workload was admitted on "w2"; event`,
		},
		{
			"but of an earlier job that says nothing", "epoch 3 of r1; nominated w2; owed w1@2", "quota r1 evictions=2 kill=30s",
			"w1 up stopped@1 live@3 \n w2 up copy@3 stops admitted", "Owed; owed w1@2~1s",
		},
		{
			"what is there again was not gone", "epoch 2 of r1; nominated w2; owed w1@1~40s", local,
			"w1 up live@2 job@1 \n w2 up copy@2 stops admitted", "Owed; owed w1@1",
		},
		{
			"neither a restart nor a lost link begins the wait anew", "epoch 2 of r1; nominated w2; owed w1@1~40s", local,
			"w1 up \n w2 up copy@2 stops admitted", "Owed; LiveRead w1; wake in 10s",
		},
		{
			"a link that is lost meanwhile is waited for as ever", "epoch 2 of r1; nominated w2; owed w1@1!~1h", local,
			"w1 lost@1m fenced@30s \n w2 up copy@2 stops admitted", "Owed; wake in 4m0s",
		},
		{
			"a person's word ends it", "epoch 2 of r1; nominated w2; owed w1@1~1s", local, "w1 lost@1m gone \n w2 up copy@2 stops admitted",
			`Won; bound w2; stops; nominated; owed; Ready The workload was admitted on "w2"; event`,
		},
		{
			"who is deleted while its job stays waits too", "epoch 2; owed w1@1~10s", "kept kill=30s", "w1 up live@2 \n w2 up", "Deleted; wake in 40s",
		},
		{
			"a termination grace without end", "epoch 2 of r1; nominated w2; owed w1@1~50s", "quota r1 evictions=1 kill=2562047h",
			"w1 up live@2 \n w2 up copy@2 stops admitted", "Owed; wake in " + (2562047*time.Hour - 30*time.Second).String(),
		},
	})
	runStepCases(t, []stepCase{{
		"the compatible policy waits for nothing", "epoch 2 of r1; nominated w2; owed w1@1", local, "w1 up live@2 \n w2 up copy@2 admitted",
		`Won; bound w2; nominated; owed; Ready The workload was admitted on "w2"; event`,
	}})
}
