package order

// Heap is a binary heap. Its elements may know their index, so that any of them can be removed or moved in logarithmic time.
// NewHeap makes one.
type Heap[T any] struct {
	elements []T
	compare  func(a, b T) int
	// setIndex, unless nil, tells an element its index; -1 once it has left.
	setIndex func(element T, index int)
}

// NewHeap returns an empty heap. setIndex is called with an element's index whenever that changes, and with -1 when the element
// leaves; nil if elements need not know.
func NewHeap[T any](compare func(a, b T) int, setIndex func(element T, index int)) *Heap[T] {
	return &Heap[T]{compare: compare, setIndex: setIndex}
}

// Append adds an element without restoring the order: call [Heap.Init] before anything else is asked of the heap.
func (h *Heap[T]) Append(element T) { h.elements = append(h.elements, element) }

// Init restores the order of all elements, in linear time.
func (h *Heap[T]) Init() {
	for i := len(h.elements)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// Len returns the number of elements.
func (h *Heap[T]) Len() int { return len(h.elements) }

// Clear takes all elements out without telling them.
func (h *Heap[T]) Clear() {
	clear(h.elements)
	h.elements = h.elements[:0]
}

// First returns the least element; the heap must not be empty.
func (h *Heap[T]) First() T { return h.elements[0] }

// All returns the elements in no particular order. The caller must not change the slice.
func (h *Heap[T]) All() []T { return h.elements }

// Push adds an element.
func (h *Heap[T]) Push(element T) {
	h.elements = append(h.elements, element)
	h.up(len(h.elements) - 1)
}

// Remove takes out the element at index, as setIndex said; 0 is the first.
func (h *Heap[T]) Remove(index int) {
	gone, last := h.elements[index], len(h.elements)-1
	moved := h.elements[last]
	clear(h.elements[last:])
	h.elements = h.elements[:last]
	if index < last {
		h.elements[index] = moved
		h.Fix(index)
	}
	if h.setIndex != nil {
		h.setIndex(gone, -1)
	}
}

// Fix restores the order after the element at index changed.
func (h *Heap[T]) Fix(index int) {
	if !h.down(index) {
		h.up(index)
	}
}

// up moves the element at i towards the first as far as it belongs.
func (h *Heap[T]) up(i int) {
	element := h.elements[i]
	for i > 0 {
		parent := (i - 1) / 2
		if h.compare(element, h.elements[parent]) >= 0 {
			break
		}
		h.set(i, h.elements[parent])
		i = parent
	}
	h.set(i, element)
}

// down sinks the element at i and reports whether it moved.
func (h *Heap[T]) down(i int) bool {
	start, element := i, h.elements[i]
	for {
		child := 2*i + 1
		if child >= len(h.elements) {
			break
		}
		if right := child + 1; right < len(h.elements) && h.compare(h.elements[right], h.elements[child]) < 0 {
			child = right
		}
		if h.compare(element, h.elements[child]) <= 0 {
			break
		}
		h.set(i, h.elements[child])
		i = child
	}
	h.set(i, element)
	return i != start
}

func (h *Heap[T]) set(i int, element T) {
	h.elements[i] = element
	if h.setIndex != nil {
		h.setIndex(element, i)
	}
}
