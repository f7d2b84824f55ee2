package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

var header = []string{"JOB", "KIND", "PRIORITY", "GPUS", "STATE", "CLUSTER", "FLAVOR", "PODS", "WHY IT WAITS"}

// tableCells are the columns of one row.
func (r row) tableCells() []string {
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	return []string{
		r.title(), r.kind(), r.Priority, r.describeRequest(), string(r.State), dash(r.Cluster), dash(r.Flavor),
		fmt.Sprintf("%d/%d", r.Up, r.allPods()), briefReason(r.Why),
	}
}

// table lays the rows out in lines of at most width runes, at most height of them (0 means any number). Where there are
// too many, those that are done give way first and a last line says how many are not shown.
func table(rows []row, elapsed time.Duration, width, height int) []string {
	lines := []string{fmt.Sprintf("%s after %d s", counts(rows), int(elapsed.Seconds())), ""}
	room := len(rows)
	if height > 0 {
		room = max(1, height-len(lines)-2) // the header and the line about those not shown
	}
	shown, hidden := mostInformative(rows, room)
	cells := [][]string{header}
	for _, r := range shown {
		cells = append(cells, r.tableCells())
	}
	lines = append(lines, columns(cells)...)
	if hidden > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", hidden))
	}
	for i := range lines {
		lines[i] = clip(lines[i], width)
	}
	return lines
}

// counts is "12 finished, 5 running, 13 queued".
func counts(rows []row) string {
	number := map[state]int{}
	for _, r := range rows {
		number[r.State]++
	}
	var parts []string
	for _, s := range []state{finished, failed, running, placed, offered, queued, submitted} {
		if number[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", number[s], strings.ToLower(string(s))))
		}
	}
	return strings.Join(parts, ", ")
}

// mostInformative keeps as many rows as there is room for, in their order: first those that are not done, then failed ones,
// then finished ones.
func mostInformative(rows []row, room int) (shown []row, hidden int) {
	hidden = max(0, len(rows)-room)
	rank := func(r row) int {
		switch r.State {
		case finished:
			return 2
		case failed:
			return 1
		default:
			return 0
		}
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(rows[a]) - rank(rows[b]) })
	order = order[:len(rows)-hidden]
	slices.Sort(order)
	for _, i := range order {
		shown = append(shown, rows[i])
	}
	return shown, hidden
}

// columns pads every column but the last to its widest cell.
func columns(cells [][]string) []string {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var lines []string
	for _, line := range cells {
		var b strings.Builder
		for i, cell := range line {
			if i == len(line)-1 {
				b.WriteString(cell)
				break
			}
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// clip cuts a line at width runes (0 means nowhere).
func clip(line string, width int) string {
	runes := []rune(line)
	if width <= 0 || len(runes) <= width {
		return line
	}
	return string(runes[:max(0, width-1)]) + "…"
}

// changes are the lines about rows that are not as they were, for output that is not a terminal. Only a change of state
// or place counts: reasons change with every neighbour that comes or goes.
func changes(before, after []row, elapsed time.Duration) []string {
	var lines []string
	for i, r := range after {
		if i < len(before) && before[i].State == r.State && before[i].Cluster == r.Cluster {
			continue
		}
		line := fmt.Sprintf("%5.1fs  %-20s %-9s", elapsed.Seconds(), r.title(), r.State)
		if r.Cluster != "" {
			line += fmt.Sprintf(" on %s %s, pods %d/%d", r.Cluster, r.Flavor, r.Up, r.allPods())
		}
		if r.Why != "" && r.State != finished && r.State != placed {
			line += " (" + briefReason(r.Why) + ")"
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
