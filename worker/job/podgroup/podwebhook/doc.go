// Package podwebhook has managed pods wait to be admitted, and refuses pods that contradict themselves (contract: job-kinds.md 10.1,
// 10.2). It sees every pod of the namespaces for which it is called, so it reads nothing for pods that are plainly not managed.
package podwebhook
