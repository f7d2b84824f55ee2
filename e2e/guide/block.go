package guide

import (
	"fmt"
	"os"
	"strings"
)

// Block is a block of commands in a guide.
type Block struct {
	// Line is that of the first command in the file, counted from one.
	Line int
	// Commands are a script for bash.
	Commands string
	// Retry tells that the block is marked to be run until it prints what it Shows.
	Retry bool
	// Shows is what it prints according to the guide; empty if that is not shown.
	Shows string
}

// Read reads the blocks of a Markdown file, in order.
func Read(file string) ([]Block, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a guide: %w", err)
	}
	blocks, err := Blocks(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return blocks, nil
}

// Blocks are those of a Markdown text, in order. A text without any is an error, as are a block without an end, output
// without a block before it, and "retry" without output: such a block would not be run as its writer thinks.
func Blocks(text string) ([]Block, error) {
	var blocks []Block
	for _, f := range fences(text) {
		switch {
		case !f.closed:
			return nil, fmt.Errorf("line %d: the block has no end", f.line)
		case f.info == "sh" || f.info == "sh retry":
			blocks = append(blocks, Block{Line: f.line, Commands: f.body, Retry: f.info == "sh retry"})
		case strings.HasPrefix(f.info, "sh ") || f.info == "bash":
			return nil, fmt.Errorf("line %d: a block marked %q is not run: mark it sh, sh retry or console", f.line, f.info)
		case f.info == "text" && (len(blocks) == 0 || blocks[len(blocks)-1].Shows != ""):
			return nil, fmt.Errorf("line %d: output of no block", f.line)
		case f.info == "text":
			blocks[len(blocks)-1].Shows = f.body
		}
	}
	for _, b := range blocks {
		if b.Retry && b.Shows == "" {
			return nil, fmt.Errorf("line %d: the block is to be run until it prints something, and nothing is shown", b.Line)
		}
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("no block is marked sh")
	}
	return blocks, nil
}

// YAML is the first block of a Markdown file that is marked yaml: values that the reader is told to use.
func YAML(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read a guide: %w", err)
	}
	for _, f := range fences(string(text)) {
		if f.info == "yaml" && f.closed {
			return f.body, nil
		}
	}
	return "", fmt.Errorf("%s: no block is marked yaml", file)
}

// codeFence is a fenced block of any kind; line is that of the first line in it.
type codeFence struct {
	info, body string
	line       int
	closed     bool
}

const marker = "```"

// fences are the fenced blocks of a text; those of lists are indented, with what is in them.
func fences(text string) []codeFence {
	var found []codeFence
	open, indent := false, ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case !open && strings.HasPrefix(trimmed, marker):
			open, indent = true, line[:len(line)-len(trimmed)]
			found = append(found, codeFence{info: strings.TrimSpace(trimmed[len(marker):]), line: i + 2})
		case open && strings.TrimSpace(line) == marker:
			open = false
			found[len(found)-1].closed = true
		case open:
			found[len(found)-1].body += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	return found
}
