package v1beta2

import "crypto/tls"

// tlsVersions are the versions that may be asked for; empty leaves Go's default.
var tlsVersions = map[string]uint16{
	"":             0,
	"VersionTLS12": tls.VersionTLS12,
	"VersionTLS13": tls.VersionTLS13,
}

// cipherSuite finds a cipher suite by the name that Go gives it. Suites that Go
// calls insecure are not offered.
func cipherSuite(name string) (uint16, bool) {
	for _, suite := range tls.CipherSuites() {
		if suite.Name == name {
			return suite.ID, true
		}
	}
	return 0, false
}
