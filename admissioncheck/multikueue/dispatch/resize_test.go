package dispatch

import "testing"

func TestAJobThatIsScaledDownIsMadeSmallerWhereItRuns(t *testing.T) {
	runStepCases(t, []stepCase{
		{"the job first, so that it never runs more pods than its copy is for", "bound w1", "quota Ready",
			"w1 up copy@1 admitted adopted larger job@1 oversized", "Running; ResizeJob w1"},
		{"then its copy", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted larger job@1", "Running; UpdateOffer w1@1"},
		{"and that is all", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted job@1", "Running"},
		{"not the copy alone, which may have a job that is not seen yet", "bound w1", "quota Ready", "w1 up copy@1 admitted larger",
			"Starting; CreateJob w1@1"},
		{"nor while the job is there and not seen", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted larger live@1 copy@1 admitted adopted larger job@1", "Looking"},
		{"an offer follows", "nominated w1 w2", "quota", "w1 up copy@1 larger \n w2 up copy@1", "Offered; UpdateOffer w1@1; wake in 4s"},
		{"one that has admitted more than is needed wins", "nominated w1", "quota", "w1 up copy@1 admitted larger",
			`Won; bound w1; nominated; Ready The workload was admitted on "w1"; event`},
		{"a job that differs in more is given up", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted changed job@1 live@1 copy@1 admitted adopted changed job@1",
			`RemoteGone; epoch 2; owed w1@1; Retry Admitting remote no longer exists`},
		{"not one that has ended", "bound w1", "quota Ready", "w1 up copy@1 admitted adopted larger job@1 oversized finished:Succeeded", "RunFinished; Finish w1 Succeeded"},
		{"not while the hub evicts it", "epoch 2; bound w1; owed w1@1", "quota Ready evicted evictions=1 active", "w1 up copy@1 deactivating admitted adopted larger job@1 oversized", "Draining"},
	})
}
