// Package admissioncheck is the part of an AdmissionCheck's life that is the same for every check controller: the check
// stays as long as a ClusterQueue asks for it. Its condition Active belongs to the controller that the check names.
package admissioncheck
