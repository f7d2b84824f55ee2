package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child process whose output goes to a file and which does not outlive this process:
// it leads a process group of its own (so that Ctrl-C at a terminal reaches only us and we stop
// things in order) and, on Linux, the kernel kills it when we die.
type Process struct {
	name    string
	log     string
	command Command
	done    chan struct{}

	mu sync.Mutex
	// cmd is the child that runs, or ran last.
	cmd *exec.Cmd
	// ending is set once the child was asked to end: it is not started again.
	ending bool
	err    error
}

// Command says what StartProcess runs.
type Command struct {
	// Name appears in errors.
	Name string
	Path string
	Args []string
	// Env is added to this process' environment.
	Env []string
	// Log is the file to which standard output and error are appended.
	Log string
	// Restarts is how often the child is started again when it ends without being asked to, as systemd does with a kubelet.
	Restarts int
}

// StartProcess starts a command. The child ends with this process.
func StartProcess(c Command) (*Process, error) {
	p := &Process{name: c.Name, log: c.Log, command: c, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	return p, nil
}

// run holds one OS thread for as long as the child lives: the kernel sends a child its parent-death
// signal when the thread that forked it ends, and Go ends threads as it likes unless a goroutine
// is locked to them.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.start()
	started <- err
	if err != nil {
		return
	}
	err = p.cmd.Wait()
	for range p.command.Restarts {
		if restarted, startErr := p.startAgain(); !restarted {
			err = errors.Join(err, startErr)
			break
		}
		err = p.cmd.Wait()
	}
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	close(p.done)
}

// start starts a child.
func (p *Process) start() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of %s: %w", p.name, err)
	}
	// No context: the child's life is Stop's, Kill's and the kernel's matter.
	cmd := exec.CommandContext(context.Background(), p.command.Path, p.command.Args...)
	cmd.Env = append(os.Environ(), p.command.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	p.cmd = cmd
	return errors.Join(cmd.Start(), out.Close())
}

// startAgain starts another child unless the last one was asked to end.
func (p *Process) startAgain() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending {
		return false, nil
	}
	err := p.start()
	return err == nil, err
}

// PID is the child's process id.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Done is closed when the child has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends a signal to the child's process group; a child that has ended is no error.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = p.ending || sig == syscall.SIGKILL || sig == syscall.SIGTERM
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to %s: %w", sig, p.name, err)
	}
	return nil
}

// Kill ends the child with SIGKILL and waits until it is gone.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.done
	}
	return err
}

// Stop asks the child to end with SIGTERM and kills it after the grace. It returns when it is gone.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	// A stopped (SIGSTOP) process handles no signal but SIGKILL until it is continued.
	if err := p.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return p.Kill()
	}
}

// Exited tells whether the child has ended, and with what error (nil for status 0).
func (p *Process) Exited() (bool, error) {
	select {
	case <-p.done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return true, p.err
	default:
		return false, nil
	}
}

// exit says in words how the child ended.
func (p *Process) exit() string {
	if _, err := p.Exited(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// LogTail is the end of the child's log, for messages about failures.
func (p *Process) LogTail() string { return tail(p.log, 15) }

func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
