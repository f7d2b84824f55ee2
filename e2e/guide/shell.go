package guide

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// lookEvery is how often a block marked to be retried is run.
const lookEvery = 500 * time.Millisecond

// Shell is where a reader types the commands.
type Shell struct {
	// Dir is the working directory, Env the whole environment.
	Dir string
	Env []string
}

// Run runs a block until its end, or as often as it is marked to be, for as long as the context lasts. It returns what was
// printed last, and an error if a command failed or what was printed is not what the guide shows.
func (s Shell) Run(ctx context.Context, b Block) (printed string, err error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		text, err := s.once(ctx, b)
		if err == nil || !b.Retry {
			return text, err
		}
		if ctx.Err() != nil { // what an interrupted command printed tells nothing
			return printed, err
		}
		printed = text
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return printed, errors.Join(ctx.Err(), err)
		}
	}
}

func (s Shell) once(ctx context.Context, b Block) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", b.Commands)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	cmd.WaitDelay = time.Second // for what bash has started and what still holds its output
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("the block of line %d failed: %w", b.Line, err)
	}
	if b.Shows == "" {
		return string(out), nil
	}
	if why := Differs(b.Shows, string(out)); why != "" {
		return string(out), fmt.Errorf("the block of line %d: %s", b.Line, why)
	}
	return string(out), nil
}
