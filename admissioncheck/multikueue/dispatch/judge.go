package dispatch

// look asks the bound cluster itself, because the cache shows nothing there or something wrong. Absence in a cache is no
// evidence, and what it shows may be over.
func (t turn) look(v ClusterView, actions []Action) Plan {
	if live := t.answer(v); live != nil {
		plan := t.judge(v, *live, actions)
		if !plan.Writes(t.s, t.o.Local) || t.fresh(*live) {
			return plan
		}
	}
	return t.stay(Looking, "reading "+v.Name,
		append(actions, Action{Verb: LiveRead, Cluster: v.Name, Epoch: t.s.Epoch})...)
}

// fresh reports whether an answer is young enough for a run to be given up on it.
func (t turn) fresh(live Live) bool {
	return live.At.IsZero() || t.o.Now.Before(live.At.Add(answerAge))
}

// judge decides from what a live read found on the bound cluster. A run that has ended was honoured before.
func (t turn) judge(v ClusterView, live Live, actions []Action) Plan {
	c := live.Copy
	vanished := !t.runs(v, live) && c.Adopted
	switch {
	case t.healthy(c) && t.s.tampered(c, live.Job):
		return t.stay(Looking, msgRelabelled(v.Name), actions...)
	case !t.s.currentCopy(c):
		return t.gone(v, live, actions)
	case c.Finished != nil && c.Finished.Reason != OutOfSync: // without a job that could have
		return t.giveUp(RemoteGone, msgGone, nil)
	case c.Finished != nil:
		message := t.msgOutOfSync(v.Name)
		return t.giveUp(RemoteOutOfSync, message, &Event{Warning: true, Message: message})
	case vanished && !v.EndedUnfinished:
		return t.gone(v, live, actions)
	case c.Evicted:
		message := t.msgEvicted(v.Name)
		return t.giveUp(RemoteEvicted, message, &Event{Message: message})
	case c.Deleting:
		return t.stay(Looking, "the copy on "+v.Name+" is being deleted", actions...)
	case vanished:
		return t.gone(v, live, actions)
	case live.Job.Holder == Foreign, t.s.currentJob(live.Job) && !t.runs(v, live) && c.Stamped: // it was here before ours, and is none of ours
		return t.giveUp(NameCollision, t.msgCollision(v.Name), &Event{Warning: true, Message: t.msgCollision(v.Name)})
	case !v.InConfig || !t.healthy(c):
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	return t.stay(Looking, "the cache of "+v.Name+" is behind", actions...)
}

// runs reports whether the job that was made in this epoch is still there.
func (t turn) runs(v ClusterView, live Live) bool {
	return t.s.currentJob(live.Job) && t.believed(v.Name, live.Copy, live.Job)
}

// gone handles a bound copy or job that is not there any more (case 6a). If the job is still there, its run has lost its
// permission and nothing else has happened. If it is not, it may have finished and been cleaned up: the Workload is
// dispatched again only if somebody saw that it had not. A job is never made again within an epoch. Where nothing is left of it and
// others show a later epoch than the record, the record was lost: without an epoch above theirs their offers would stay for ever.
func (t turn) gone(v ClusterView, live Live, actions []Action) Plan {
	if t.runs(v, live) || v.EndedUnfinished {
		return t.giveUp(RemoteGone, msgGone, nil)
	}
	if t.behind() && live.Copy.Holder != Ours && live.Job.Holder != Ours {
		return t.restore(t.newest())
	}
	message := `Result unknown: the job is gone from worker cluster "` + v.Name +
		`" and nobody saw how it ended; delete the workload, or deactivate and reactivate it to run it again`
	plan := t.stay(ResultUnknown, message, actions...)
	plan.Verdict.Message = message
	return plan
}
