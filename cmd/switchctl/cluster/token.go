package cluster

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// tokenExpiry is until when the token in a kubeconfig is good, as the token itself says; false if it does not.
func tokenExpiry(kubeconfig []byte) (time.Time, bool) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return time.Time{}, false
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.AuthInfos[current.AuthInfo] == nil {
		return time.Time{}, false
	}
	parts := strings.Split(config.AuthInfos[current.AuthInfo].Token, ".")
	if len(parts) != 3 { // header, claims, signature (RFC 7519)
		return time.Time{}, false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var until struct {
		Exp int64 `json:"exp"`
	}
	if err := json.Unmarshal(claims, &until); err != nil || until.Exp == 0 {
		return time.Time{}, false
	}
	return time.Unix(until.Exp, 0), true
}
