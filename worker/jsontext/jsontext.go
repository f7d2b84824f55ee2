// Package jsontext finds the parts of a JSON text by where they begin and end, without decoding them: for texts that the API
// server has written, of which most is passed on or thrown away. It looks at each byte once.
//
// It does not check the text. Of one that is no JSON it may find parts that are none either. A caller that is not sure of the
// text has the parts that matter checked by a decoder.
package jsontext

import (
	"bytes"
	"strings"
)

// Members calls each for the members of the object, in their order, until it returns false. The name is what stands between
// the quotes, escapes and all; the value has no space around it. False means that the text is no object, or that each said so.
func Members(object []byte, each func(name, value []byte) bool) bool {
	return parts(object, '{', '}', func(i int) (int, bool) {
		if object[i] != '"' {
			return 0, false
		}
		nameEnd := end(object, i)
		if nameEnd < 0 {
			return 0, false
		}
		at := space(object, nameEnd)
		if at == len(object) || object[at] != ':' {
			return 0, false
		}
		at = space(object, at+1)
		valueEnd := end(object, at)
		if valueEnd < 0 {
			return 0, false
		}
		return valueEnd, each(object[i+1:nameEnd-1], object[at:valueEnd])
	})
}

// Elements calls each for the elements of the array, in their order, until it returns false. False means that the text is no
// array, or that each said so.
func Elements(array []byte, each func(value []byte) bool) bool {
	return parts(array, '[', ']', func(i int) (int, bool) {
		valueEnd := end(array, i)
		if valueEnd < 0 {
			return 0, false
		}
		return valueEnd, each(array[i:valueEnd])
	})
}

// First returns the value that the text begins with, and what comes after it; false if it has no end in the text.
func First(text []byte) (value, rest []byte, ok bool) {
	from := space(text, 0)
	to := end(text, from)
	if to < 0 {
		return nil, nil, false
	}
	return text[from:to], text[space(text, to):], true
}

// parts walks over what stands between the brackets; part returns where the one that begins at i ends.
func parts(text []byte, opens, closes byte, part func(i int) (int, bool)) bool {
	i := space(text, 0)
	if i == len(text) || text[i] != opens {
		return false
	}
	i = space(text, i+1)
	if i < len(text) && text[i] == closes {
		return space(text, i+1) == len(text)
	}
	for i < len(text) {
		next, ok := part(i)
		if !ok {
			return false
		}
		switch i = space(text, next); {
		case i == len(text):
			return false
		case text[i] == closes:
			return space(text, i+1) == len(text)
		case text[i] != ',':
			return false
		}
		i = space(text, i+1)
	}
	return false
}

// end returns where the value that begins at i ends; -1 if there is none.
func end(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return endOfString(text, i)
	case '{', '[':
		return endOfNested(text, i)
	}
	from := i
	for i < len(text) && strings.IndexByte(",:{}[]\" \t\r\n", text[i]) < 0 {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func endOfNested(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			if i = endOfString(text, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// endOfString skips from quote to quote, past those with an odd number of backslashes before them.
func endOfString(text []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(text[from:], '"')
		if n < 0 {
			return -1
		}
		at, slashes := from+n, 0
		for text[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at + 1
		}
		from = at + 1
	}
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}
