// Renders a chart as Helm does, and lints it, with Helm's own packages. The program of that name also has what talks to
// registries and clusters, and takes minutes to compile. The release is one that takes the versions of the servers:
// what they compiled is not compiled again.
//
//	helm CHART RELEASE NAMESPACE <values.json     the manifests; exit 1 with the words of Helm or its linter
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(directory, name, namespace string) error {
	given := map[string]any{}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	chart, err := loader.Load(directory)
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, given, release, nil)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	for _, each := range lint.All(directory, given, namespace, false).Messages {
		if each.Severity >= support.WarningSev {
			return each
		}
	}
	for name, text := range rendered {
		if path.Ext(name) == ".yaml" {
			fmt.Printf("---\n%s\n", text)
		}
	}
	return nil
}
