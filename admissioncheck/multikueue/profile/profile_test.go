package profile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"

	configapi "switchyard.dev/apis/config/v1beta2"
)

// The environment by which the test's own program knows that it is run as a credential plugin.
const (
	playMode = "PROFILE_TEST_MODE"
	playLog  = "PROFILE_TEST_LOG"
	playSays = "PROFILE_TEST_SAYS"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(playMode); mode != "" {
		play(mode)
		return
	}
	os.Exit(m.Run())
}

// play is a credential plugin: it notes what it was told, and answers as the mode has it.
func play(mode string) {
	if file := os.Getenv(playLog); file != "" {
		log, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(log, strings.TrimSpace(os.Getenv(execInfo)))
		_ = log.Close()
	}
	switch mode {
	case "hang":
		<-time.After(time.Hour)
	case "hang-while":
		for {
			if _, err := os.Stat(os.Getenv(playSays)); err != nil {
				say(token("late"))
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	case "fail":
		os.Exit(3)
	case "flood":
		for {
			say(strings.Repeat("x", 1<<16))
		}
	case "file":
		text, err := os.ReadFile(os.Getenv(playSays))
		if err != nil {
			panic(err)
		}
		say(string(text))
	default:
		say(os.Getenv(playSays))
	}
}

// say is the plugin's answer. It ends when the reader has gone.
func say(text string) {
	if _, err := os.Stdout.WriteString(text); err != nil {
		os.Exit(1)
	}
}

func credentialJSON(status map[string]any) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status,
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func token(value string) string { return credentialJSON(map[string]any{"token": value}) }

// provider runs this test's program in a mode, and says what it says.
func provider(t *testing.T, name, mode, says string) configapi.ClusterProfileAccessProvider {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return configapi.ClusterProfileAccessProvider{Name: name, ExecConfig: clientcmdv1.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: self,
		Env: []clientcmdv1.ExecEnvVar{
			{Name: playMode, Value: mode}, {Name: playSays, Value: says}, {Name: playLog, Value: filepath.Join(t.TempDir(), "runs")},
		},
	}}
}

// runs are the texts that the provider's program was told, one for each run.
func runs(t *testing.T, p configapi.ClusterProfileAccessProvider) []string {
	t.Helper()
	for _, v := range p.ExecConfig.Env {
		if v.Name == playLog {
			text, err := os.ReadFile(v.Value)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
		}
	}
	t.Fatal("no log")
	return nil
}

func profileOf(name string, access ...inventory.AccessProvider) *inventory.ClusterProfile {
	p := &inventory.ClusterProfile{}
	p.Name, p.Status.AccessProviders = name, access
	return p
}

func at(provider, server string, change ...func(*clientcmdv1.Cluster)) inventory.AccessProvider {
	a := inventory.AccessProvider{Name: provider, Cluster: clientcmdv1.Cluster{Server: server}}
	for _, f := range change {
		f(&a.Cluster)
	}
	return a
}

func extension(name, raw string) func(*clientcmdv1.Cluster) {
	return func(c *clientcmdv1.Cluster) {
		c.Extensions = append(c.Extensions, clientcmdv1.NamedExtension{Name: name, Extension: runtime.RawExtension{Raw: []byte(raw)}})
	}
}

// becomes polls for a condition, for at most a minute.
func becomes(condition func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if condition() {
			return true
		}
		<-time.After(5 * time.Millisecond)
	}
	return false
}
