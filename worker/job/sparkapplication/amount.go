package sparkapplication

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	errAmount         = errors.New("is no amount of up to 32 digits")
	errNegativeAmount = errors.New("must not be negative")
	errLargeAmount    = errors.New("is more than can be counted")
)

// amountPattern bounds what is read. No API server has looked at these texts, and the library does not come back from an amount such as
// 1e-2147483647.
var amountPattern = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([a-zA-Z]{0,2}|[eE][+-]?[0-9]{1,2})$`)

// javaUnits are those of Java's memory strings, longer ones first, and what Kubernetes calls them. All are powers of 1024.
var javaUnits = [...]struct{ java, kubernetes string }{
	{"kb", "Ki"}, {"mb", "Mi"}, {"gb", "Gi"}, {"tb", "Ti"}, {"pb", "Pi"},
	{"k", "Ki"}, {"m", "Mi"}, {"g", "Gi"}, {"t", "Ti"}, {"p", "Pi"}, {"b", ""},
}

// parseAmount reads an amount of a resource: a quantity, or a memory string of Java's.
func parseAmount(text string, memory bool) (resource.Quantity, error) {
	if !amountPattern.MatchString(text) {
		return resource.Quantity{}, errAmount
	}
	if memory {
		text = fromJava(text)
	}
	amount, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return resource.Quantity{}, fmt.Errorf("read the amount: %w", err)
	case amount.Sign() < 0:
		return resource.Quantity{}, errNegativeAmount
	case amount.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) > 0:
		return resource.Quantity{}, errLargeAmount
	}
	return amount, nil
}

// fromJava returns a memory string of Java's as Kubernetes writes it, and any other text as it is.
func fromJava(text string) string {
	lower := strings.ToLower(text)
	for _, unit := range javaUnits {
		if number, found := strings.CutSuffix(lower, unit.java); found {
			return number + unit.kubernetes
		}
	}
	return text
}
