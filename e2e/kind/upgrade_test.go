package kind

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nextTag is that of the image to which programs are upgraded.
const nextTag = "next"

func upgradesUnderLoad(ctx SpecContext) {
	jobs := []client.Object{}
	pods := map[string]string{}
	for i := range 2 {
		j := job(fmt.Sprintf("long-%d", i), main, "sleep", "1h")
		Expect(hub.Create(ctx, j)).To(Succeed())
		jobs = append(jobs, j)
	}
	for _, j := range jobs {
		Eventually(running).WithContext(ctx).WithArguments(j).ShouldNot(BeEmpty())
		pods[j.GetName()] = podOf(ctx, j.(*batchv1.Job))
	}

	began := time.Now()
	upgraded := make(chan error, 1)
	go func() { upgraded <- upgradeAll(ctx) }()
	submitted := 0
	for done := false; !done; submitted++ {
		j := job(fmt.Sprintf("short-%d", submitted), main, "echo", "meanwhile")
		Expect(hub.Create(ctx, j)).To(Succeed(), "nothing is refused while programs change")
		jobs = append(jobs, j)
		expectComplete(ctx, j)
		select {
		case err := <-upgraded:
			Expect(err).NotTo(HaveOccurred())
			done = true
		default:
		}
	}
	logf("all programs were replaced in %.0f s; %d jobs were submitted meanwhile, and ran", time.Since(began).Seconds(), submitted)

	for _, c := range []*kindCluster{hub, w1, w2} {
		Expect(programImages(ctx, c)).To(HaveEach(HaveSuffix(":" + nextTag)))
	}
	for _, j := range jobs {
		Expect(creationsOf(ctx, j)).To(HaveLen(1), "%s ran once", j.GetName())
	}
	for _, j := range jobs[:2] {
		Expect(podOf(ctx, j.(*batchv1.Job))).To(Equal(pods[j.GetName()]), "%s ran on", j.GetName())
	}
	remove(ctx, jobs...)
}

// upgradeAll gives every program the other image, workers first, as the guide says.
func upgradeAll(ctx context.Context) error {
	err := onAll(ctx, workers, func(ctx context.Context, w *kindCluster) error {
		return helm(ctx, w, "upgrade", "--set", "image.tag="+nextTag)
	})
	if err != nil {
		return err
	}
	return helm(ctx, hub, "upgrade", "--set", "image.tag="+nextTag)
}

// podOf is the UID of the one running pod of a job.
func podOf(ctx context.Context, j *batchv1.Job) string {
	GinkgoHelper()
	var found []string
	for _, w := range workers {
		pods, err := podsOf(ctx, w, j)
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			if runs(&pods[i]) {
				found = append(found, string(pods[i].UID))
			}
		}
	}
	Expect(found).To(HaveLen(1))
	return found[0]
}

// programImages are those of the programs' pods that are not going.
func programImages(ctx context.Context, c *kindCluster) ([]string, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(system)); err != nil {
		return nil, err
	}
	var found []string
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			found = append(found, pods.Items[i].Spec.Containers[0].Image)
		}
	}
	return found, nil
}
