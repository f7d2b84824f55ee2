package memory

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// patched is what a patch makes of an object.
func (c *collection) patched(kind types.PatchType, live map[string]any, data []byte, manager string) (map[string]any, error) {
	patch := map[string]any{}
	if err := utiljson.Unmarshal(data, &patch); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode the patch: %v", err))
	}
	switch kind {
	case types.MergePatchType:
		return mergePatch(live, patch), nil
	case types.ApplyPatchType:
		return c.apply(live, patch, manager), nil
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patches of type %q are not served here", kind))
	}
}

// mergePatch lays a patch over fields as RFC 7386 has it. It takes over both.
func mergePatch(live, patch map[string]any) map[string]any {
	for key, value := range patch {
		over, isMap := value.(map[string]any)
		below, wasMap := live[key].(map[string]any)
		switch {
		case value == nil:
			delete(live, key)
		case isMap && wasMap:
			live[key] = mergePatch(below, over)
		case isMap:
			live[key] = mergePatch(map[string]any{}, over)
		default:
			live[key] = value
		}
	}
	return live
}

// listKeys are the members by which the entries of a list are told apart; lists of other names are replaced as a whole.
func listKeys(list string) string {
	return map[string]string{
		"conditions": "type", "admissionChecks": "name", "reclaimablePods": "name", "ownerReferences": "uid", "preemptionGates": "name",
	}[list]
}

// apply is server-side apply as far as it is used here: always forced, so that there are no conflicts, and with lists known
// by name instead of by schema. What the manager applied before and has left out now is removed unless another applied it, too.
func (c *collection) apply(live, applied map[string]any, manager string) map[string]any {
	meta, _ := applied["metadata"].(map[string]any)
	version, uid := meta["resourceVersion"], meta["uid"]
	for _, name := range []string{"name", "namespace", "resourceVersion", "uid"} {
		delete(meta, name)
	}
	delete(applied, "apiVersion")
	delete(applied, "kind")
	liveMeta, _ := live["metadata"].(map[string]any)
	key := objectKey(fmt.Sprint(orEmpty(liveMeta["namespace"])), fmt.Sprint(liveMeta["name"]))
	if c.applied[key] == nil {
		c.applied[key] = map[string]map[string]any{}
	}
	before := c.applied[key][manager]
	c.applied[key][manager] = applied
	var others []map[string]any
	for name, fields := range c.applied[key] {
		if name != manager {
			others = append(others, fields)
		}
	}
	removeFields(live, before, append(others, applied))
	next := overlay(live, deepCopy(applied)) // what is remembered must not share anything with what is stored
	nextMeta, _ := next["metadata"].(map[string]any)
	if version != nil {
		nextMeta["resourceVersion"] = version
	}
	if uid != nil {
		nextMeta["uid"] = uid
	}
	return next
}

func orEmpty(value any) any {
	if value == nil {
		return ""
	}
	return value
}

func deepCopy(m map[string]any) map[string]any {
	data, err := json.Marshal(m)
	if err == nil {
		m = map[string]any{}
		err = utiljson.Unmarshal(data, &m)
	}
	if err != nil {
		panic("memory: what was decoded cannot be encoded: " + err.Error())
	}
	return m
}

// overlay lays applied fields over live ones. Maps are merged, lists with keys entry by entry.
func overlay(live, applied map[string]any) map[string]any {
	for name, value := range applied {
		switch value := value.(type) {
		case nil: // nothing is applied
		case map[string]any:
			below, _ := live[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			live[name] = overlay(below, value)
		case []any:
			live[name] = overlayList(live[name], value, listKeys(name))
		default:
			live[name] = value
		}
	}
	return live
}

func overlayList(live any, applied []any, key string) []any {
	list, _ := live.([]any)
	if key == "" || list == nil {
		return applied
	}
	for _, entry := range applied {
		over, _ := entry.(map[string]any)
		i := slices.IndexFunc(list, func(is any) bool { m, _ := is.(map[string]any); return m[key] == over[key] })
		if i < 0 {
			list = append(list, entry)
			continue
		}
		below, _ := list[i].(map[string]any)
		list[i] = overlay(below, over)
	}
	return list
}

// removeFields removes from live what was applied before and is not applied by any manager now.
func removeFields(live, before map[string]any, now []map[string]any) {
	for name, value := range before {
		var still []any
		for _, m := range now {
			if is, found := m[name]; found {
				still = append(still, is)
			}
		}
		below, _ := live[name].(map[string]any)
		was, isMap := value.(map[string]any)
		list, isList := value.([]any)
		switch {
		case len(still) == 0 && (!isList || listKeys(name) == ""):
			delete(live, name)
		case isMap && below != nil:
			removeFields(below, was, asMaps(still))
		case isList && listKeys(name) != "":
			live[name] = removeEntries(live[name], list, still, listKeys(name))
			if left, _ := live[name].([]any); len(left) == 0 {
				delete(live, name)
			}
		}
	}
}

func asMaps(values []any) []map[string]any {
	var list []map[string]any
	for _, v := range values {
		if m, ok := v.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// removeEntries removes the entries of a list that were applied before and are in none of the lists applied now; of those
// that are, the members.
func removeEntries(live any, before, now []any, key string) []any {
	list, _ := live.([]any)
	for _, entry := range before {
		was, _ := entry.(map[string]any)
		same := func(is any) bool { m, _ := is.(map[string]any); return reflect.DeepEqual(m[key], was[key]) }
		var still []map[string]any
		for _, other := range now {
			others, _ := other.([]any)
			if i := slices.IndexFunc(others, same); i >= 0 {
				still = append(still, asMaps([]any{others[i]})...)
			}
		}
		i := slices.IndexFunc(list, same)
		switch {
		case i < 0:
		case len(still) == 0:
			list = slices.Delete(list, i, i+1)
		default:
			below, _ := list[i].(map[string]any)
			removeFields(below, maps.Clone(was), still)
		}
	}
	return list
}
