// Package capacity publishes what this cluster has room for, as a CapacityReport, for programs that hand out work to several
// clusters. What is published is computed from the view, tree by tree as figures change; see DESIGN.md for what it costs.
package capacity
