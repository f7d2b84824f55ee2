package deployment_test

import (
	"testing"

	"switchyard.dev/worker/job/serving/servingtest"
)

func FuzzWebhook(f *testing.F) { servingtest.FuzzWebhook(f, newWebhook(localQueue("default"))) }
