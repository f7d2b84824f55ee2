package order

// digitBits is the width of the digits that keys are sorted by.
const digitBits = 8

// Key is what sorts something among many: High first, then Low.
type Key struct {
	High, Low uint64
	// Index finds what it is the key of.
	Index int32
}

// SortKeys sorts keys, and leaves equal ones in their order. It takes a pass for every digit in which keys differ, and so much less
// than comparisons do where many differ in few.
func SortKeys(keys []Key) {
	if len(keys) == 0 {
		return
	}
	var high, low uint64
	for _, k := range keys {
		high, low = high|(k.High^keys[0].High), low|(k.Low^keys[0].Low)
	}
	from, to := keys, make([]Key, len(keys))
	pass := func(digit func(Key) uint8) {
		var begins [1 << digitBits]int
		for i := range from {
			begins[digit(from[i])]++
		}
		sum := 0
		for d := range begins {
			begins[d], sum = sum, sum+begins[d]
		}
		for i := range from {
			d := digit(from[i])
			to[begins[d]] = from[i]
			begins[d]++
		}
		from, to = to, from
	}
	for shift := 0; shift < 64; shift += digitBits {
		if low>>shift&(1<<digitBits-1) != 0 {
			pass(func(k Key) uint8 { return uint8(k.Low >> shift) })
		}
	}
	for shift := 0; shift < 64; shift += digitBits {
		if high>>shift&(1<<digitBits-1) != 0 {
			pass(func(k Key) uint8 { return uint8(k.High >> shift) })
		}
	}
	if &from[0] != &keys[0] {
		copy(keys, from)
	}
}

// Key returns what a rank sorts by among many: group, priority and whole seconds. Equal keys are put in order by the rest, see Rest.
func (m RankPrefix) Key(group uint32, index int32) Key {
	return Key{High: uint64(group)<<32 | uint64(^(uint32(m.priority) ^ 1<<31)), Low: uint64(m.seconds) ^ 1<<63, Index: index}
}

// FirstKey comes before all keys of the group.
func FirstKey(group uint32, index int32) Key { return Key{High: uint64(group) << 32, Index: index} }

// Rest returns what sorts ranks that have the same key, but for the end of their UIDs.
func (m RankPrefix) Rest(index int32) Key {
	return Key{High: uint64(m.nanos), Low: m.uidPrefix, Index: index}
}
