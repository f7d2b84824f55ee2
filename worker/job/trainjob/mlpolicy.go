package trainjob

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobsetv1 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// trainerPort is where the nodes find each other.
const trainerPort = 29500

// enforcePolicy sets the number of nodes, and what the containers have to know of it.
func (r *rendering) enforcePolicy() error {
	switch p := ptr.Deref(r.policy, mlPolicy{}); {
	case p.Torch != nil:
		r.setNodes()
		return r.torch(p.Torch)
	case p.MPI != nil:
		r.mpi(p.MPI)
	case p.JAX != nil:
		r.setNodes()
		r.jax()
	case p.Flux != nil:
		r.setNodes()
		r.addTrainerEnv()
		r.flux()
	case p.XGBoost != nil:
		r.setNodes()
		r.addTrainerEnv()
		r.xgboost()
	default:
		r.setNodes()
		r.addTrainerEnv()
	}
	return nil
}

// setNodes gives the trainer's job as many pods as the TrainJob has nodes.
func (r *rendering) setNodes() {
	if j := r.trainerJob(); j != nil && r.trainer.NumNodes != nil {
		setPods(j, *r.trainer.NumNodes)
	}
}

// nodes is how many pods the trainer's job has.
func (r *rendering) nodes() int32 {
	if j := r.trainerJob(); j != nil {
		return *j.Template.Spec.Parallelism
	}
	return 1
}

// nodeContainer is the trainer's container, which is looked after only if the TrainJob speaks of it.
func (r *rendering) nodeContainer() *corev1.Container {
	if !r.hasTrainer {
		return nil
	}
	return findContainer(r.trainerJob(), node)
}

func (r *rendering) addTrainerEnv() {
	if c := r.nodeContainer(); c != nil {
		c.Env = upsertEnv(c.Env, normalEnv(r.trainer.Env)...)
	}
}

// torch tells the nodes, and further containers that the runtime names, where the others are.
func (r *rendering) torch(policy *torchPolicy) error {
	processes := "auto"
	if n := r.trainer.NumProcPerNode; n != nil {
		processes = strconv.Itoa(int(*n))
	} else if resources := r.nodeResources(); countGPUs(resources) == 0 {
		processes = strconv.FormatInt(max(1, countCPUs(resources)), 10)
	}
	common := []corev1.EnvVar{
		{Name: "PET_NNODES", Value: strconv.Itoa(int(r.nodes()))}, {Name: "PET_NPROC_PER_NODE", Value: processes}, indexEnv("PET_NODE_RANK"),
	}
	address := []corev1.EnvVar{{Name: "PET_MASTER_ADDR", Value: r.firstNode()}, {Name: "PET_MASTER_PORT", Value: strconv.Itoa(trainerPort)}}
	if c := r.nodeContainer(); c != nil {
		r.addTrainerEnv()
		c.Env = upsertEnv(c.Env, common...)
		if !slices.Equal(r.trainer.Command, []string{"tune", "run"}) {
			c.Env = upsertEnv(c.Env, address...)
		}
		addPort(c)
	}
	for _, target := range policy.EnvInjection.Targets {
		for _, name := range target.ContainerNames {
			c := r.anyContainer(target.JobName, name)
			if c == nil {
				return fmt.Errorf("the runtime names container %q of job %q, which does not exist", name, target.JobName)
			}
			c.Env = upsertEnv(upsertEnv(c.Env, common...), address...)
		}
	}
	return nil
}

// anyContainer returns a container or init container of the job of that name; nil if there is none.
func (r *rendering) anyContainer(job, name string) *corev1.Container {
	j := r.named(job)
	if c := findContainer(j, name); c != nil || j == nil {
		return c
	}
	return byName(j.Template.Spec.Template.Spec.InitContainers, name)
}

// jax tells the nodes where the first is.
func (r *rendering) jax() {
	c := r.nodeContainer()
	if c == nil {
		return
	}
	c.Env = upsertEnv(c.Env,
		corev1.EnvVar{Name: "JAX_NUM_PROCESSES", Value: strconv.Itoa(int(r.nodes()))},
		indexEnv("JAX_PROCESS_ID"),
		corev1.EnvVar{Name: "JAX_COORDINATOR_ADDRESS", Value: fmt.Sprintf("%s:%d", r.firstNode(), trainerPort)},
	)
	addPort(c)
}

// xgboost tells the nodes where the tracker is.
func (r *rendering) xgboost() {
	c := r.nodeContainer()
	if c == nil {
		return
	}
	workers := int64(r.nodes()) * max(1, countGPUs(r.nodeResources()))
	c.Env = upsertEnv(c.Env,
		corev1.EnvVar{Name: "DMLC_TRACKER_URI", Value: r.firstNode()},
		corev1.EnvVar{Name: "DMLC_TRACKER_PORT", Value: strconv.Itoa(trainerPort)},
		indexEnv("DMLC_TASK_ID"),
		corev1.EnvVar{Name: "DMLC_NUM_WORKER", Value: strconv.FormatInt(workers, 10)},
	)
	addPort(c)
}

// mpi sets the number of nodes, of which the launcher may be one, and gives launcher and nodes their keys.
func (r *rendering) mpi(policy *mpiPolicy) {
	if j := r.named(node); j != nil && r.trainer.NumNodes != nil {
		pods := *r.trainer.NumNodes
		if policy.RunLauncherAsNode {
			pods = max(pods-1, 1)
		}
		setPods(j, pods)
	}
	keys := corev1.VolumeMount{Name: "mpi-ssh-auth", MountPath: ptr.Deref(policy.SSHAuthMountPath, "/root/.ssh")}
	for _, name := range []string{node, launcher} {
		j := r.named(name)
		addVolumes(j, corev1.Volume{Name: "mpi-ssh-auth", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: r.name + "-mpi-ssh-auth", DefaultMode: ptr.To[int32](0o400),
		}}})
		if c := findContainer(j, node); c != nil {
			c.VolumeMounts = upsertMounts(c.VolumeMounts, keys)
		}
	}
	addVolumes(r.named(launcher), configMapVolume("mpi-hostfile", r.name+"-mpi-hostfile", nil))
	if c := findContainer(r.named(launcher), node); c != nil {
		c.VolumeMounts = upsertMounts(c.VolumeMounts, corev1.VolumeMount{Name: "mpi-hostfile", MountPath: "/etc/mpi"})
		c.Env = upsertEnv(c.Env,
			corev1.EnvVar{Name: "OMPI_MCA_orte_default_hostfile", Value: "/etc/mpi/hostfile"},
			corev1.EnvVar{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
			corev1.EnvVar{Name: "OMPI_MCA_orte_set_default_slots", Value: strconv.FormatInt(r.slots(policy), 10)},
			corev1.EnvVar{Name: "OMPI_MCA_plm_rsh_args", Value: "-o ConnectionAttempts=10"},
		)
	}
}

// slots is how many MPI processes a node runs.
func (r *rendering) slots(policy *mpiPolicy) int64 {
	if n := r.trainer.NumProcPerNode; n != nil {
		return int64(*n)
	}
	n := int64(ptr.Deref(policy.NumProcPerNode, 1))
	if n == 1 {
		return max(1, countGPUs(r.nodeResources()))
	}
	return n
}

// flux runs the nodes' command by a script that an init container installs.
func (r *rendering) flux() {
	image := corev1.EnvVar{Name: "FLUX_VIEW_IMAGE", Value: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy"}
	command := r.trainer.Command
	if c := findContainer(r.trainerJob(), node); c != nil {
		if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == image.Name && e.ValueFrom == nil }); i >= 0 {
			image = c.Env[i]
		}
		if command == nil {
			command = c.Command
		}
	}
	whole := strings.TrimSpace(strings.Join(slices.Concat(command, r.trainer.Args), " "))
	r.hasTrainer, r.trainer.Command, r.trainer.Args = true, []string{"/bin/bash", "/etc/flux-config/entrypoint.sh", whole}, nil
	install := corev1.VolumeMount{Name: "flux-install", MountPath: "/mnt/flux"}
	config := corev1.VolumeMount{Name: r.name + "-flux-entrypoint", MountPath: "/etc/flux-config", ReadOnly: true}
	j := r.named(node)
	if j == nil {
		return
	}
	addVolumes(j, corev1.Volume{Name: "spack-install", VolumeSource: emptyDir("")}, corev1.Volume{Name: "flux-install", VolumeSource: emptyDir("")},
		configMapVolume(config.Name, config.Name, ptr.To[int32](0o755)),
		corev1.Volume{Name: "shared-memory", VolumeSource: emptyDir(corev1.StorageMediumMemory)},
		corev1.Volume{Name: "flux-curve", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: r.name + "-flux-curve", DefaultMode: ptr.To[int32](0o400),
		}}})
	pod := &j.Template.Spec.Template.Spec
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: "flux-installer", Image: image.Value, Command: []string{"/bin/bash", "/etc/flux-config/init.sh"},
		VolumeMounts: []corev1.VolumeMount{install, config},
	})
	if c := findContainer(j, node); c != nil {
		c.VolumeMounts = upsertMounts(c.VolumeMounts, install, corev1.VolumeMount{Name: "spack-install", MountPath: "/opt/software"}, config,
			corev1.VolumeMount{Name: "flux-curve", MountPath: "/curve", ReadOnly: true},
			corev1.VolumeMount{Name: "shared-memory", MountPath: "/dev/shm", ReadOnly: true})
	}
}

// nodeResources are those of a node: the TrainJob's, else those of the first node container that has any.
func (r *rendering) nodeResources() corev1.ResourceRequirements {
	if own := r.trainer.ResourcesPerNode; own != nil {
		return *own
	}
	j := r.find(func(j *jobsetv1.ReplicatedJob) bool {
		c := findContainer(j, node)
		return c != nil && (j.Name == node || isStep(j, ancestorTrainer)) && (c.Resources.Limits != nil || c.Resources.Requests != nil)
	})
	if c := findContainer(j, node); c != nil {
		return c.Resources
	}
	return corev1.ResourceRequirements{}
}

// countGPUs is how many of the resource that calls itself a GPU are asked for.
func countGPUs(resources corev1.ResourceRequirements) int64 {
	for _, list := range []corev1.ResourceList{resources.Requests, resources.Limits} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if quantity := list[name]; strings.Contains(strings.ToLower(string(name)), "gpu") && quantity.Value() > 0 {
				return quantity.Value()
			}
		}
	}
	return 0
}

func countCPUs(resources corev1.ResourceRequirements) int64 {
	if requested := resources.Requests.Cpu(); !requested.IsZero() {
		return requested.Value()
	}
	return resources.Limits.Cpu().Value()
}

// firstNode is the name of the first node's pod in the cluster's DNS.
func (r *rendering) firstNode() string { return fmt.Sprintf("%s-%s-0-0.%s", r.name, node, r.name) }

// indexEnv is a variable that has the pod's number in its Job.
func indexEnv(name string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"},
	}}
}

// addPort opens the trainer's port. As the trainer has it, a port without name takes the place of another one without.
func addPort(c *corev1.Container) {
	port := corev1.ContainerPort{ContainerPort: trainerPort}
	c.Ports = upsert(c.Ports, []corev1.ContainerPort{port}, func(a, b corev1.ContainerPort) bool {
		return a.ContainerPort == b.ContainerPort || a.Name == b.Name
	})
}

// addVolumes adds volumes to the pods of a job, in the place of those of the same names. Their content does not matter to a Workload.
func addVolumes(j *jobsetv1.ReplicatedJob, more ...corev1.Volume) {
	if j == nil {
		return
	}
	pod := &j.Template.Spec.Template.Spec
	pod.Volumes = upsert(pod.Volumes, more, func(a, b corev1.Volume) bool { return a.Name == b.Name })
}

func configMapVolume(name, configMap string, mode *int32) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, DefaultMode: mode,
	}}}
}

func emptyDir(medium corev1.StorageMedium) corev1.VolumeSource {
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}
}

func upsertMounts(mounts []corev1.VolumeMount, more ...corev1.VolumeMount) []corev1.VolumeMount {
	return upsert(mounts, more, func(a, b corev1.VolumeMount) bool { return a.MountPath == b.MountPath })
}
