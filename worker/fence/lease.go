package fence

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// leasePrefix begins the names of hubs' leases; package guard has a test that it is that of the API.
const leasePrefix = "switchyard-hub-"

// LeaseName is the name of the run lease of the hub with an origin: switchyard-hub- and the origin. An origin is a label
// value, of which not all can be part of an object's name; of those that cannot, the name has a readable form and a digest.
func LeaseName(origin string) string {
	if isName(origin) {
		return leasePrefix + origin
	}
	sum := sha256.Sum256([]byte(origin))
	readable := strings.Map(func(r rune) rune {
		if isLowerOrDigit(r) {
			return r
		}
		return '-'
	}, strings.ToLower(origin))
	return leasePrefix + strings.Trim(readable, "-") + "-" + hex.EncodeToString(sum[:4])
}

// isName tells whether every part between dots begins and ends with a small letter or digit and has only those and dashes.
func isName(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if part == "" || strings.Trim(part, "-") != part {
			return false
		}
		for _, r := range part {
			if !isLowerOrDigit(r) && r != '-' {
				return false
			}
		}
	}
	return true
}

func isLowerOrDigit(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' }
