package profile

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/pkg/apis/clientauthentication"
	"k8s.io/client-go/pkg/apis/clientauthentication/install"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"switchyard.dev/worker/kube"
)

// execInfo is the environment variable in which a program is told what is asked of it.
const execInfo = "KUBERNETES_EXEC_INFO"

const (
	// runLimit is how long a program may take before it is killed.
	runLimit = time.Minute
	// outputLimit is how many bytes it may say.
	outputLimit = 1 << 20
	// stderrLimit is how many bytes of what it complains of in one run go to the hub's own log.
	stderrLimit = 8 << 10
	// pipeGrace is how long a program's own children may hold its output open after it has ended.
	pipeGrace = time.Second
)

// plugin is a program that gives credentials, as client.authentication.k8s.io defines it.
type plugin struct {
	config *clientcmdapi.ExecConfig
	codecs serializer.CodecFactory
	group  schema.GroupVersion
	// info is the value of execInfo.
	info string
}

// credential is what a program gave.
type credential struct {
	token string
	pair  *tls.Certificate
	// pem is what pair was made of.
	pem string
	// expires is zero for never.
	expires time.Time
}

// newPlugin returns the access provider of a configuration. It runs nothing yet.
func newPlugin(config *rest.Config) (*plugin, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	utilruntime.Must(clientauthentication.AddToScheme(scheme))
	install.Install(scheme)
	p := &plugin{config: config.ExecProvider, codecs: serializer.NewCodecFactory(scheme)}
	var err error
	if p.group, err = schema.ParseGroupVersion(p.config.APIVersion); err != nil {
		return nil, fmt.Errorf("version of the credential plugin: %w", err)
	}
	if !scheme.Recognizes(p.group.WithKind("ExecCredential")) {
		return nil, fmt.Errorf("credential plugin: apiVersion %q is not known", p.config.APIVersion)
	}
	request := &clientauthentication.ExecCredential{}
	if p.config.ProvideClusterInfo {
		if request.Spec.Cluster, err = rest.ConfigToExecCluster(config); err != nil {
			return nil, fmt.Errorf("describe the cluster to the credential plugin: %w", err)
		}
	}
	text, err := runtime.Encode(p.codecs.LegacyCodec(p.group), request)
	if err != nil {
		return nil, fmt.Errorf("describe the cluster to the credential plugin: %w", err)
	}
	p.info = string(text)
	return p, nil
}

// run runs the program once, and kills it when ctx ends.
func (p *plugin) run(ctx context.Context) (*credential, error) {
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	output := &boundedBuffer{full: func() { kill(errOutputTooLarge) }}
	command := exec.CommandContext(ctx, p.config.Command, p.config.Args...)
	command.Env = os.Environ()
	for _, v := range p.config.Env {
		command.Env = append(command.Env, v.Name+"="+v.Value)
	}
	command.Env = append(command.Env, execInfo+"="+p.info)
	complains := &stderrLog{logger: os.Stderr, remaining: stderrLimit}
	command.Stdout, command.Stderr, command.WaitDelay = output, complains, pipeGrace
	err := command.Run()
	complains.flush()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("credential plugin %s: %w", p.config.Command, err)
	}
	c, err := p.decode(output.data.Bytes())
	if err != nil {
		return nil, fmt.Errorf("credential plugin %s: %w", p.config.Command, err)
	}
	return c, nil
}

// decode reads a program's answer. What is wrong with it is told without quoting it: it may be secret.
func (p *plugin) decode(answer []byte) (*credential, error) {
	obj, got, err := p.codecs.UniversalDecoder(p.group).Decode(answer, nil, &clientauthentication.ExecCredential{})
	if err != nil {
		return nil, errors.New("its answer is not an ExecCredential")
	}
	said, ok := obj.(*clientauthentication.ExecCredential)
	switch {
	case !ok || got.GroupVersion() != p.group:
		return nil, fmt.Errorf("its answer is not an ExecCredential of %s", p.group)
	case said.Status == nil:
		return nil, errors.New("its answer has no status")
	case said.Status.Token == "" && said.Status.ClientCertificateData == "":
		return nil, errors.New("its answer has neither a token nor a certificate")
	case (said.Status.ClientCertificateData == "") != (said.Status.ClientKeyData == ""):
		return nil, errors.New("its answer has a certificate without its key, or a key without its certificate")
	}
	c := &credential{token: said.Status.Token}
	if said.Status.ExpirationTimestamp != nil {
		c.expires = said.Status.ExpirationTimestamp.Time
	}
	if said.Status.ClientCertificateData != "" {
		pair, err := tls.X509KeyPair([]byte(said.Status.ClientCertificateData), []byte(said.Status.ClientKeyData))
		if err != nil {
			return nil, errors.New("its certificate and key cannot be used")
		}
		c.pair, c.pem = &pair, said.Status.ClientCertificateData+said.Status.ClientKeyData
	}
	return c, nil
}

// errOutputTooLarge is the cause of death of a program that does not stop talking.
var errOutputTooLarge = errors.New("it says too much")

// boundedBuffer is a buffer that refuses to grow beyond outputLimit, and says when it is full. It is no bytes.Buffer itself,
// whose ReadFrom would pass by the limit.
type boundedBuffer struct {
	data bytes.Buffer
	full func()
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > outputLimit {
		b.full()
		return 0, errOutputTooLarge
	}
	b.data.Write(p) // never fails
	return len(p), nil
}

// stderrLog pass on the first bytes of what a program writes, line by line and fit to be shown, and drop the rest.
type stderrLog struct {
	logger    io.Writer
	remaining int
	line      []byte // what has come of the last one
}

// Write implements io.Writer. It never fails: a program is not to end because its output is not read.
func (c *stderrLog) Write(p []byte) (int, error) {
	n := min(len(p), c.remaining)
	c.remaining -= n
	c.line = append(c.line, p[:n]...)
	for {
		end := bytes.IndexByte(c.line, '\n')
		if end < 0 {
			return len(p), nil
		}
		c.logLine(c.line[:end])
		c.line = c.line[end+1:]
	}
}

// flush passes on a last line that has no end.
func (c *stderrLog) flush() {
	if len(c.line) > 0 {
		c.logLine(c.line)
		c.line = nil
	}
}

func (c *stderrLog) logLine(line []byte) {
	_, _ = io.WriteString(c.logger, kube.SanitizeForTerminal(string(line))+"\n")
}
