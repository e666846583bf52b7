// Tests of others that are a witness of lint. Nothing here is compiled: their manifests are linted, and their programs
// searched for what they expect.
module adhere.test/e2e/suites

go 1.26.0

require (
	sigs.k8s.io/gateway-api v1.6.1
	sigs.k8s.io/gateway-api/conformance v1.6.1
)
