package plan

// Ready tells whether all pods that were asked for are there, and each of them is ready or has succeeded.
func Ready(f *Facts) bool {
	if len(f.Members) == 0 || !f.Single && len(f.Members) < f.TotalCount {
		return false
	}
	return f.count(func(m *Member) bool { return m.Ready && !m.isTerminal() || f.succeeded(m) }) == len(f.Members)
}

// Reclaimable returns how many pods of each role need their quota no more, sorted by name. Of a pod that is alone and of a group that
// serves there are none.
func Reclaimable(f *Facts) []Role {
	if f.Single || f.Serving {
		return nil
	}
	done := f.parts(f.where(f.succeeded))
	roles := make([]Role, 0, len(done))
	for _, p := range done {
		roles = append(roles, p.Role)
	}
	return roles
}
