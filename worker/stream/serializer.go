package stream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	kueue "switchyard.dev/apis/kueue/v1beta2"
	"switchyard.dev/worker/jsontext"
)

// negotiated is what a REST client that watches Workloads decodes with.
type negotiated struct{ runtime.NegotiatedSerializer }

func newNegotiated(scheme *runtime.Scheme) negotiated {
	codecs := serializer.WithoutConversionCodecFactory{CodecFactory: serializer.NewCodecFactory(scheme)}
	return negotiated{NegotiatedSerializer: codecs}
}

// SupportedMediaTypes are those of the general client. That of JSON decodes Workloads and events of a watch with quick.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clone(n.NegotiatedSerializer.SupportedMediaTypes())
	for i := range all {
		if all[i].MediaType == runtime.ContentTypeJSON {
			all[i].Serializer = quick{Serializer: all[i].Serializer}
			all[i].StreamSerializer = &runtime.StreamSerializerInfo{
				EncodesAsText: true, Serializer: quick{Serializer: all[i].StreamSerializer.Serializer}, Framer: lines{},
			}
		}
	}
	return all
}

// quick decodes Workloads and events, and leaves all else to the serializer within.
type quick struct{ runtime.Serializer }

// Decode decodes one object.
func (q quick) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok && readEvent(text, event) {
		return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
	}
	if into == nil {
		if wl, ok := decodeWorkload(text); ok {
			kind := kueue.GroupVersion.WithKind("Workload")
			return wl, &kind, nil
		}
	}
	return q.Serializer.Decode(text, defaults, into)
}

// readEvent takes an event apart. Its object is a part of the text, which its reader decodes before it reads on.
func readEvent(text []byte, event *metav1.WatchEvent) bool {
	var kind, object []byte
	ok := jsontext.Members(text, func(name, value []byte) bool {
		switch {
		case string(name) == "type" && kind == nil && len(value) > 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0:
			kind = value[1 : len(value)-1]
		case string(name) == "object" && object == nil:
			object = value
		default:
			return false
		}
		return true
	})
	if !ok || kind == nil || object == nil {
		return false
	}
	event.Type, event.Object.Raw = string(kind), object
	return true
}

// lines frames a stream of JSON texts each of which ends with its line, as the API server writes them. Texts of several
// lines, which it writes for people, are put together.
type lines struct{}

// NewFrameReader reads one text at a time.
func (lines) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return &lineReader{Closer: r, buffered: bufio.NewReaderSize(r, 16<<10)}
}

// NewFrameWriter writes what ends by itself.
func (lines) NewFrameWriter(w io.Writer) io.Writer { return w }

type lineReader struct {
	io.Closer
	buffered *bufio.Reader
	// text is the frame, rest the part of it that is still to be read.
	text, rest []byte
}

// Read reads a frame, or a part of it and io.ErrShortBuffer.
func (l *lineReader) Read(into []byte) (int, error) {
	if len(l.rest) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(into, l.rest)
	if l.rest = l.rest[n:]; len(l.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// maxText bounds a text, in bytes: more than the API server stores of an object.
const maxText = 16 << 20

var errNoText = errors.New("the stream has something other than JSON objects in lines")

// next reads lines until they are a text.
func (l *lineReader) next() error {
	for l.text = l.text[:0]; ; {
		line, err := l.buffered.ReadSlice('\n')
		l.text = append(l.text, line...)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if errors.Is(err, bufio.ErrBufferFull) && len(l.text) <= maxText {
			continue
		}
		switch value, rest, ok := jsontext.First(l.text); {
		case ok && value[0] == '{' && len(rest) == 0:
			l.rest = value
			return nil
		case ok || len(l.text) > maxText:
			return errNoText
		case err != nil && len(bytes.TrimSpace(l.text)) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return io.EOF
		}
	}
}
