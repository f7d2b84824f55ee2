package multikueue

import (
	"testing"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"

	"switchyard.dev/apis/config/features"
	configapi "switchyard.dev/apis/config/v1beta2"
)

func TestWhereCredentialsMayComeFromIsWhatGatesAndConfigurationSay(t *testing.T) {
	provider := []configapi.ClusterProfileAccessProvider{{Name: "p", ExecConfig: clientcmdv1.ExecConfig{Command: "plugin"}}}
	for _, tc := range []struct {
		name               string
		gates              map[string]bool
		profile            *configapi.ClusterProfile
		anywhere, profiles bool
		providers          int
	}{
		{name: "by default: Secrets, and files below the prefix"},
		{name: "files from anywhere", gates: map[string]bool{"MultiKueueKubeConfigPathValidation": false}, anywhere: true},
		{name: "profiles without a provider", gates: map[string]bool{"MultiKueueClusterProfile": true}, profiles: true},
		{
			name: "profiles", gates: map[string]bool{"MultiKueueClusterProfile": true},
			profile: &configapi.ClusterProfile{AccessProviders: provider}, profiles: true, providers: 1,
		},
		{
			name: "profiles, in the deprecated spelling", gates: map[string]bool{"MultiKueueClusterProfile": true},
			profile: &configapi.ClusterProfile{CredentialsProviders: provider}, profiles: true, providers: 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gates, err := features.New(tc.gates)
			if err != nil {
				t.Fatal(err)
			}
			got := credentialSources(&configapi.MultiKueue{ClusterProfile: tc.profile}, gates)
			if got.AllowAnyPath != tc.anywhere || got.AllowProfiles != tc.profiles || len(got.Providers) != tc.providers {
				t.Errorf("access %+v", got)
			}
		})
	}
}
