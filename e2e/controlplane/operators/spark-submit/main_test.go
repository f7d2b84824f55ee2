package main

import (
	"testing"
)

func TestAPodIsMadeOfPropertiesOfItsRole(t *testing.T) {
	p := parse([]string{
		"--master", "k8s://here",
		"--conf", "spark.kubernetes.namespace=team",
		"--conf", "spark.kubernetes.container.image=spark",
		"--conf", "spark.kubernetes.executor.label.app=pi",
		"--conf", "spark.kubernetes.driver.label.app=other",
		"--conf", "spark.kubernetes.node.selector.zone=a",
		"--conf", "spark.kubernetes.executor.request.cores=500m",
		"--conf", "spark.executor.cores=2",
		"--conf", "spark.executor.memory=512m",
		"pi.py",
	})
	pod, err := p.pod("executor")
	if err != nil {
		t.Fatal(err)
	}
	container := pod.Spec.Containers[0]
	if pod.Namespace != "team" || pod.Labels["app"] != "pi" || pod.Labels["spark-role"] != "executor" || pod.Spec.NodeSelector["zone"] != "a" {
		t.Errorf("the pod is %+v", pod)
	}
	if container.Image != "spark" || container.Resources.Requests.Cpu().String() != "500m" || container.Resources.Requests.Memory().String() != "512Mi" {
		t.Errorf("the container is %+v", container)
	}
}

func TestAnAmountThatIsNoneIsAnError(t *testing.T) {
	if _, err := (properties{"spark.driver.memory": "lots"}).pod("driver"); err == nil {
		t.Error("the pod of a driver with lots of memory was made")
	}
}
