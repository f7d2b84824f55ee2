// Command spark-operator runs the controllers of the Spark operator. Its own main program can also serve webhooks, and needs
// an older controller-runtime than the other operators for that.
package main

import (
	"fmt"
	"os"

	"github.com/kubeflow/spark-operator/v2/cmd/operator/controller"
)

func main() {
	if err := controller.NewStartCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "spark-operator:", err)
		os.Exit(1)
	}
}
