package manager

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// certificateSecret is as the rotator leaves it; the name tells certificates apart.
func certificateSecret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "kueue-webhook-server-cert"},
		Data: map[string][]byte{
			"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
			"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
			"ca.crt":  []byte("authority of " + name),
			"ca.key":  []byte("what no server needs"),
		},
	}
}

// replicaOf is a program that reads the Secret from the API server and has a directory of its own, which is not there yet.
func replicaOf(t *testing.T, api client.Client) publisher {
	t.Helper()
	return publisher{
		secrets: api, dir: directory(filepath.Join(t.TempDir(), "serving-certs")),
		secret: client.ObjectKey{Namespace: "kueue-system", Name: "kueue-webhook-server-cert"},
	}
}

func mustPublish(t *testing.T, p publisher) {
	t.Helper()
	if _, err := p.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
}

// visible are the files that a reader of the directory sees.
func visible(t *testing.T, d directory) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(string(d), "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = string(data)
	}
	return all
}

func published(s *corev1.Secret) map[string]string {
	return map[string]string{
		"tls.crt": string(s.Data["tls.crt"]), "tls.key": string(s.Data["tls.key"]), "ca.crt": string(s.Data["ca.crt"]),
	}
}

func TestEveryReplicaGetsTheFirstCertificateAndItsKeyForItselfAlone(t *testing.T) {
	secret := certificateSecret(t, "first")
	api := fake.NewClientBuilder().WithObjects(secret).Build()
	for range 3 {
		replica := replicaOf(t, api)
		mustPublish(t, replica)
		if diff := cmp.Diff(published(secret), visible(t, replica.dir)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		info, err := os.Stat(filepath.Join(string(replica.dir), "tls.key"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key has mode %v, error %v", info.Mode(), err)
		}
	}
}

func TestNothingIsPublishedWhileTheSecretHasNoCertificate(t *testing.T) {
	half, foreign := certificateSecret(t, "half"), certificateSecret(t, "one")
	delete(half.Data, "tls.key")
	foreign.Data["tls.key"] = certificateSecret(t, "another").Data["tls.key"]
	empty := half.DeepCopy()
	empty.Data = nil
	for name, objects := range map[string][]client.Object{
		"no Secret": nil, "an empty one": {empty}, "one without key": {half}, "one with the key of another": {foreign},
	} {
		t.Run(name, func(t *testing.T) {
			replica := replicaOf(t, fake.NewClientBuilder().WithObjects(objects...).Build())
			mustPublish(t, replica)
			if _, err := os.Stat(string(replica.dir)); !os.IsNotExist(err) {
				t.Errorf("there is something: %v", err)
			}
		})
	}
}

func TestARotatedCertificateReachesTheServersOfAllReplicas(t *testing.T) {
	secret := certificateSecret(t, "old")
	api := fake.NewClientBuilder().WithObjects(secret).Build()
	for range 2 {
		replica := replicaOf(t, api)
		mustPublish(t, replica)
		served := serve(t, replica.dir)
		if first := <-served; !strings.Contains(first, "old") {
			t.Fatalf("it serves %s first", first)
		}

		rotated := certificateSecret(t, "new")
		rotated.ResourceVersion = ""
		if err := api.Update(t.Context(), rotated); err != nil {
			t.Fatal(err)
		}
		mustPublish(t, replica)
		if diff := cmp.Diff(published(rotated), visible(t, replica.dir)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if next := <-served; !strings.Contains(next, "new") {
			t.Errorf("it serves %s then", next)
		}
		if left, err := filepath.Glob(filepath.Join(string(replica.dir), generations+"*")); err != nil || len(left) != 1 {
			t.Errorf("there are %v, error %v", left, err)
		}
		secret.ResourceVersion = ""
		if err := api.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
}

// serve tells the subject of each certificate that a webhook server on the directory takes up.
func serve(t *testing.T, d directory) <-chan string {
	t.Helper()
	watcher, err := certwatcher.New(filepath.Join(string(d), "tls.crt"), filepath.Join(string(d), "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan string, 16)
	watcher.WithWatchInterval(50 * time.Millisecond).RegisterCallback(func(c tls.Certificate) { served <- c.Leaf.Subject.CommonName })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return served
}

func TestADirectoryThatHasTheCertificateIsLeftAlone(t *testing.T) {
	secret := certificateSecret(t, "mounted")
	replica := replicaOf(t, fake.NewClientBuilder().WithObjects(secret).Build())
	if err := os.MkdirAll(string(replica.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range published(secret) {
		if err := os.WriteFile(filepath.Join(string(replica.dir), name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, replica)
	entries, err := os.ReadDir(string(replica.dir))
	if err != nil || len(entries) != 3 || !entries[0].Type().IsRegular() {
		t.Errorf("it has %v, error %v", entries, err)
	}
}

func TestWhatAKilledProgramLeftIsReplaced(t *testing.T) {
	secret := certificateSecret(t, "present")
	replica := replicaOf(t, fake.NewClientBuilder().WithObjects(secret).Build())
	dir := string(replica.dir)
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, generations+"1"), 0o700),
		os.Symlink("nowhere", filepath.Join(dir, "..next-"+currentLink)),
		os.Symlink("nowhere", filepath.Join(dir, currentLink)),
		os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("of the past"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, replica)
	if diff := cmp.Diff(published(secret), visible(t, replica.dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, generations+"1")); !os.IsNotExist(err) {
		t.Errorf("an unfinished generation is left: %v", err)
	}
}

func TestADirectoryThatCannotBeWrittenIsNamedWithWhatToChange(t *testing.T) {
	replica := replicaOf(t, fake.NewClientBuilder().WithObjects(certificateSecret(t, "any")).Build())
	if err := os.WriteFile(string(replica.dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := replica.Reconcile(t.Context(), reconcile.Request{})
	if err == nil {
		t.Fatal("it is said to be published")
	}
	for _, want := range []string{string(replica.dir), "kueue-system/kueue-webhook-server-cert", "must be writable while internalCertManagement is enabled"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
