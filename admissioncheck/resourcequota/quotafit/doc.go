// Package quotafit decides whether the ResourceQuotas of a namespace have room for what a workload is going to create. It is
// pure: what is asked, used and promised goes in as values, an Answer with a typed Reason comes out.
//
// Units: amounts are named as in a ResourceQuota ("requests.cpu", "limits.memory", "pods", "count/jobs.batch"); those of
// cpu, under any prefix, count thousandths of a core, all others whole base units (see worker/admission/amount).
package quotafit
