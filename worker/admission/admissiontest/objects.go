package admissiontest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"switchyard.dev/worker/admission"
	"switchyard.dev/worker/admission/amount"
	"switchyard.dev/worker/admission/quota"
)

func (s *Step) parseQueue(words []string) error {
	q := &s.Queue
	q.Name = s.Name
	var groups groupReader
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "cohort":
			q.Cohort = value
		case "strict":
			q.Strategy = admission.StrictFIFO
		case "inactive":
			q.Inactive = &admission.Block{Reason: admission.Suspended, Message: "ClusterQueue " + q.Name + " is inactive"}
		case "borrow-next":
			q.Fungibility.WhenCanBorrow = admission.TryNextFlavor
		case "preempt-stop":
			q.Fungibility.WhenCanPreempt = admission.MayStopSearch
		case "prefer-borrowing":
			q.Fungibility.Preference = admission.PreemptionOverBorrowing
		case "check":
			name, flavors, some := strings.Cut(value, "@")
			rule := admission.AdmissionCheckRule{Name: name}
			if some {
				rule.OnFlavors = strings.Split(flavors, ",")
			}
			q.AdmissionChecks = append(q.AdmissionChecks, rule)
		default:
			known, err := parsePreemptionWord(q, key, value)
			if !known && err == nil {
				err = groups.readWord(word)
			}
			if err != nil {
				return err
			}
		}
	}
	q.Groups = groups.groups
	return nil
}

func (s *Step) parseCohort(words []string) error {
	s.Cohort.Name = s.Name
	var groups groupReader
	for _, word := range words {
		if parent, found := strings.CutPrefix(word, "parent="); found {
			s.Cohort.Parent = parent
			continue
		}
		if value, found := strings.CutPrefix(word, "weight="); found {
			weight, err := parseWeight(value)
			if err != nil {
				return err
			}
			s.Cohort.Weight = weight
			continue
		}
		if err := groups.readWord(word); err != nil {
			return err
		}
	}
	s.Cohort.Groups = groups.groups
	return nil
}

// groupReader reads resource groups word by word.
type groupReader struct {
	groups []admission.ResourceGroup
	split  bool
}

func (r *groupReader) readWord(word string) error {
	key, value, limit := strings.Cut(word, "=")
	if word == "|" {
		r.split = true
		return nil
	}
	if !limit {
		if len(r.groups) == 0 || r.split {
			r.groups, r.split = append(r.groups, admission.ResourceGroup{}), false
		}
		group := &r.groups[len(r.groups)-1]
		group.Flavors = append(group.Flavors, admission.FlavorQuota{Flavor: word})
		return nil
	}
	if len(r.groups) == 0 {
		return fmt.Errorf("%q needs a flavor before it", word)
	}
	group := &r.groups[len(r.groups)-1]
	flavor := &group.Flavors[len(group.Flavors)-1]
	if key == "borrow" || key == "lend" {
		return parseFlavorLimit(flavor, key, value)
	}
	nominal, err := ParseAmount(key, value)
	if err != nil {
		return err
	}
	flavor.Resources = append(flavor.Resources, admission.ResourceQuota{Resource: key, Limits: quota.Nominal(nominal)})
	if !slices.Contains(group.Resources, key) {
		group.Resources = append(group.Resources, key)
	}
	return nil
}

func parseFlavorLimit(flavor *admission.FlavorQuota, key, value string) error {
	if len(flavor.Resources) == 0 {
		return fmt.Errorf("%s needs a resource before it", key)
	}
	r := &flavor.Resources[len(flavor.Resources)-1]
	limit, err := ParseAmount(r.Resource, value)
	if key == "borrow" {
		r.Borrowing = limit
	} else {
		r.Lending = limit
	}
	return err
}

func (s *Step) parseFlavor(words []string) error {
	f := &s.Flavor
	f.Name = s.Name
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "label":
			f.Labels = append(f.Labels, parseLabel(value))
		case "taint":
			parts := strings.Split(value, ":")
			taint := admission.Taint{Key: parts[0], Effect: admission.Effect(parts[len(parts)-1])}
			if len(parts) == 3 {
				taint.Value = parts[1]
			}
			f.Taints = append(f.Taints, taint)
		case "tolerate":
			f.Tolerations = append(f.Tolerations, parseToleration(value))
		default:
			return fmt.Errorf("a flavor knows no %q", word)
		}
	}
	return nil
}

func parseLabel(text string) admission.Label {
	key, value, _ := strings.Cut(text, ":")
	return admission.Label{Key: key, Value: value}
}

// parseToleration reads key, key:value or key:value:effect; * is every key, and a key alone tolerates every value.
func parseToleration(text string) admission.Toleration {
	parts := strings.Split(text, ":")
	t := admission.Toleration{Key: parts[0], Operator: admission.TolerateExists}
	if t.Key == "*" {
		t.Key = ""
	}
	if len(parts) > 1 && parts[1] != "" {
		t.Operator, t.Value = admission.TolerateEqual, parts[1]
	}
	if len(parts) > 2 {
		t.Effect = admission.Effect(parts[2])
	}
	return t
}

func (s *Step) parseReservation(words []string) error {
	r := &s.Reservation
	r.Key, r.LocalQueue, r.Admitted = Key(s.Name), "lq", s.Verb == "admitted"
	r.UID, r.QueuedAt, r.ReservedAt = s.Name, TimeAt(0), TimeAt(0)
	var uses []quota.Use
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		flavor, resource, isUse := strings.Cut(key, "/")
		switch {
		case key == "queue":
			r.Queue = value
		case key == "lq":
			r.LocalQueue = value
		case isUse:
			v, err := ParseAmount(resource, value)
			if err != nil {
				return err
			}
			name := quota.FlavorResource{Flavor: flavor, Resource: resource}
			uses = append(uses, quota.Use{FlavorResource: name, Amount: v})
		default:
			if err := parseReservationWord(r, key, value); err != nil {
				return err
			}
		}
	}
	r.Usage = quota.NewUsage(uses...)
	return nil
}

func (s *Step) parseWorkload(words []string) error {
	w := &s.Workload
	w.Key, w.UID, w.LocalQueue, w.QueuedAt = Key(s.Name), s.Name, "lq", TimeAt(0)
	w.PodSets = []admission.PodSet{{Name: "main", Count: 1}}
	podSet := &w.PodSets[0]
	for i := 0; i < len(words); i++ {
		if words[i] == "+" && i+1 < len(words) {
			i++
			w.PodSets = append(w.PodSets, admission.PodSet{Name: words[i], Count: 1})
			podSet = &w.PodSets[len(w.PodSets)-1]
			continue
		}
		key, value, _ := strings.Cut(words[i], "=")
		known, err := parseWorkloadWord(w, key, value)
		if !known && err == nil {
			err = parsePodSetWord(podSet, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseWorkloadWord reads a word about the whole workload and reports whether it was one.
func parseWorkloadWord(w *admission.Workload, key, value string) (bool, error) {
	n, err := strconv.Atoi(value)
	switch key {
	case "prio":
		w.Priority = int32(n)
	case "at":
		w.QueuedAt = TimeAt(n)
	case "after":
		w.NotBefore = TimeAt(n)
	case "queue":
		w.Queue, err = value, nil
	case "lq":
		w.LocalQueue, err = value, nil
	case "replaces":
		w.Replaces, err = Key(value), nil
	case "gate":
		w.ClosedGates, err = append(w.ClosedGates, value), nil
	case "blocked":
		w.Blocked, err = &admission.Block{Reason: admission.Reason(value), Message: "blocked"}, nil
	case "aside":
		err = nil
		if w.Blocked != nil {
			w.Blocked.LetsOthersPass = true
		}
	default:
		return false, nil
	}
	return true, err
}

func parsePodSetWord(p *admission.PodSet, key, value string) error {
	switch key {
	case "count":
		n, err := strconv.Atoi(value)
		p.Count = int32(n)
		return err
	case "min":
		n, err := strconv.Atoi(value)
		p.MinCount = int32(n)
		return err
	case "group":
		p.Group = value
	case "runs-in":
		resource, flavor, _ := strings.Cut(value, ":")
		p.Flavors = append(p.Flavors, admission.ResourceFlavor{Resource: resource, Flavor: flavor})
	case "select":
		p.NodeSelector = append(p.NodeSelector, parseLabel(value))
	case "tolerate":
		p.Tolerations = append(p.Tolerations, parseToleration(value))
	case "affinity":
		p.Affinity = append(p.Affinity, parseAffinityTerm(value))
	default:
		v, err := ParseAmount(key, value)
		if err != nil {
			return err
		}
		p.Requests = p.Requests.Plus(amount.Vector{{Resource: key, Amount: v}})
	}
	return nil
}

// parseAffinityTerm reads requirements joined by &, each key:operator:value,value.
func parseAffinityTerm(text string) admission.Term {
	var term admission.Term
	for _, part := range strings.Split(text, "&") {
		fields := strings.SplitN(part, ":", 3)
		r := admission.Requirement{Key: fields[0], Operator: admission.Exists}
		if len(fields) > 1 {
			r.Operator = admission.Operator(fields[1])
		}
		if len(fields) > 2 {
			r.Values = strings.Split(fields[2], ",")
		}
		term = append(term, r)
	}
	return term
}
