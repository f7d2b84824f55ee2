package jsontext_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"switchyard.dev/worker/jsontext"
)

var texts = []string{
	`{}`, `[]`, ` { } `, `[ ]`, `{"a":1}`, `{"a" : {"b":[1,2,{"c":"}"}]} , "d":"]"}`, `[1, "a,b", {"x":[]}, null, true, -1.5e3]`,
	`{"q":"a\"b","s":"a\\","t":"\\\"","u":"\u00e9"}`, `{"":""}`, "{\n\t\"a\":\r\n [\n]\n}\n", `"text"`, `12`, `null`, `tr`,
	``, ` `, `{`, `[`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,]`, `[1 2]`, `{"a":1 "b":2}`, `{"a":"`, `{"a":"\`, `{1:2}`, `{} {}`, `[] 1`,
	`{"a":[}`, `{"a":[1,2}`, `{"a":1}}`, `[[[[]]]]`, `[":"]`, `{"a":"b`, `{"a":{"b":1}`, `[1`, `{"a":1`, `:`, `[:]`,
}

// members is what a decoder finds.
func members(text []byte) (map[string]string, bool) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil || all == nil {
		return nil, false
	}
	out := map[string]string{}
	for name, value := range all {
		out[name] = string(value)
	}
	return out, true
}

func check(t *testing.T, text []byte) {
	t.Helper()
	found := map[string]string{}
	ok := jsontext.Members(text, func(name, value []byte) bool {
		found[string(name)] = string(value)
		return true
	})
	want, isObject := members(text)
	if isObject && !ok {
		t.Errorf("%q is an object", text)
	}
	if isObject && utf8.Valid(text) && !bytes.Contains(text, []byte(`\`)) { // else the decoder spells names anew
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("members of %q: -want +got:\n%s", text, diff)
		}
	}
	var elements []string
	ok = jsontext.Elements(text, func(value []byte) bool {
		elements = append(elements, string(value))
		return true
	})
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err == nil && list != nil {
		var want []string
		for _, e := range list {
			want = append(want, string(e))
		}
		if diff := cmp.Diff(want, elements); diff != "" || !ok {
			t.Errorf("elements of %q (%t): -want +got:\n%s", text, ok, diff)
		}
	}
	if value, rest, ok := jsontext.First(text); json.Valid(text) && (!ok || len(rest) > 0 || string(value) != string(bytes.TrimSpace(text))) {
		t.Errorf("%q is one value; first %q (%t), then %q", text, value, ok, rest)
	}
}

func TestPartsAreThoseThatADecoderFinds(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
}

func TestWhatIsNoObjectHasNoMembers(t *testing.T) {
	all := func(_, _ []byte) bool { return true }
	for _, text := range []string{``, ` `, `[]`, `"{}"`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":"`, `{1:2}`, `{} {}`, `{"a":1`, `{"a":{"b":1}`} {
		if jsontext.Members([]byte(text), all) {
			t.Errorf("%q has members", text)
		}
	}
	for _, text := range []string{``, `{}`, `[`, `[1,]`, `[,]`, `[1 2]`, `[] 1`, `[1`, `[:]`} {
		if jsontext.Elements([]byte(text), func([]byte) bool { return true }) {
			t.Errorf("%q has elements", text)
		}
	}
}

func TestAValueThatIsCutOffIsNone(t *testing.T) {
	whole := `{"type":"ADDED","object":{"a":["b\"}",{"c":null}]}}`
	for i := range whole {
		if value, _, ok := jsontext.First([]byte(whole[:i])); ok {
			t.Errorf("%q of %q", value, whole[:i])
		}
	}
	if value, rest, ok := jsontext.First([]byte(whole + " \n{}")); !ok || string(value) != whole || string(rest) != "{}" {
		t.Errorf("%q and %q (%t)", value, rest, ok)
	}
}

func TestWhoHasFoundWhatItLooksForStops(t *testing.T) {
	seen := 0
	stop := func() bool { seen++; return false }
	if jsontext.Members([]byte(`{"a":1,"b":2}`), func(_, _ []byte) bool { return stop() }) ||
		jsontext.Elements([]byte(`[1,2]`), func([]byte) bool { return stop() }) || seen != 2 {
		t.Errorf("%d were seen", seen)
	}
}

func FuzzPartsAreThoseThatADecoderFinds(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(check)
}
