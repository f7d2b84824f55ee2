package manager

import "go.uber.org/zap/zapcore"

// lazyCore is a core that adds fields to what is logged only when something is. Every reconcile and every webhook call gets a
// logger with fields of its own, and next to none of them logs anything; zap would spell the fields out at once. Therefore
// the fields must not change after they were given.
type lazyCore struct {
	zapcore.Core
	fields []zapcore.Field
}

// With returns a core that remembers the fields, too.
func (l lazyCore) With(fields []zapcore.Field) zapcore.Core {
	all := make([]zapcore.Field, 0, len(l.fields)+len(fields))
	return lazyCore{Core: l.Core, fields: append(append(all, l.fields...), fields...)}
}

// Check has the core beneath, with all fields, decide and write.
func (l lazyCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !l.Enabled(entry.Level) {
		return checked
	}
	return l.core().Check(entry, checked)
}

// Write writes an entry that was not checked.
func (l lazyCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	return l.core().Write(entry, fields)
}

func (l lazyCore) core() zapcore.Core {
	if len(l.fields) == 0 {
		return l.Core
	}
	return l.Core.With(l.fields)
}
