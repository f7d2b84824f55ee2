package dispatch

// confirmLive asks the bound cluster itself, because the cache shows nothing there or something wrong. Absence in a cache is no
// evidence, and what it shows may be over.
func (t decision) confirmLive(v ClusterView, actions []Action) Plan {
	if live := t.liveAnswer(v); live != nil {
		plan := t.decideFromLiveRead(v, *live, actions)
		if !plan.Stores || t.isFresh(*live) {
			return plan
		}
	}
	return t.act(Looking, "reading "+v.Name,
		append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.state.Epoch})...)
}

// isFresh reports whether an answer is young enough for a run to be given up on it.
func (t decision) isFresh(live Live) bool {
	return live.At.IsZero() || t.observed.Now.Before(live.At.Add(maxAnswerAge))
}

// decideFromLiveRead decides from what a live read found on the bound cluster. A run that has ended was honoured before.
func (t decision) decideFromLiveRead(v ClusterView, live Live, actions []Action) Plan {
	c := live.Copy
	vanished := !t.jobStillThere(v, live) && c.Adopted
	switch {
	case t.allowsRun(c) && t.state.lostLabels(c, live.Job):
		return t.act(Looking, msgRelabelled(v.Name), actions...)
	case !t.state.isCurrentCopy(c):
		return t.runGone(v, live, actions)
	case c.Finished != nil && c.Finished.Reason != OutOfSync: // without a job that could have
		return t.giveUp(RemoteGone, msgGone, nil)
	case c.Finished != nil:
		message := t.msgOutOfSync(v.Name)
		return t.giveUp(RemoteOutOfSync, message, &Event{Warning: true, Message: message})
	case vanished && !v.Ended.Unfinished:
		return t.runGone(v, live, actions)
	case c.Evicted:
		message := t.msgEvicted(v.Name)
		return t.giveUp(RemoteEvicted, message, &Event{Message: message})
	case c.Deleting:
		return t.act(Looking, "the copy on "+v.Name+" is being deleted", actions...)
	case vanished:
		return t.runGone(v, live, actions)
	case live.Job.Holder == Foreign, t.state.isCurrentJob(live.Job) && !t.jobStillThere(v, live) && c.HasWorkloadUID: // it was here before ours, and is none of ours
		return t.giveUp(NameCollision, t.msgCollision(v.Name), &Event{Warning: true, Message: t.msgCollision(v.Name)})
	case !v.InConfig || !t.allowsRun(c):
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	return t.act(Looking, "the cache of "+v.Name+" is behind", actions...)
}

// jobStillThere reports whether the job that was made in this epoch is still there.
func (t decision) jobStillThere(v ClusterView, live Live) bool {
	return t.state.isCurrentJob(live.Job) && t.isWorkloadJob(v.Name, live.Copy, live.Job)
}

// runGone handles a bound copy or job that is not there any more (case 6a). If the job is still there, its run has lost its
// permission and nothing else has happened. If it is not, it may have finished and been cleaned up: the Workload is
// dispatched again only if somebody saw that it had not. A job is never made again within an epoch. Where nothing is left of it and
// others show a later epoch than the record, the record was lost: without an epoch above theirs their offers would stay for ever.
func (t decision) runGone(v ClusterView, live Live, actions []Action) Plan {
	if t.jobStillThere(v, live) || v.Ended.Unfinished {
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	if t.recordIsBehind() && live.Copy.Holder != Ours && live.Job.Holder != Ours {
		return t.restoreRecord(t.newestEpoch())
	}
	message := `Result unknown: the job is gone from worker cluster "` + v.Name +
		`" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`
	plan := t.act(ResultUnknown, message, actions...)
	t.report(&plan, message)
	return plan
}
