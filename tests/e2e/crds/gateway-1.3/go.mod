// The last release whose experimental Gateways have frontendValidation in their listeners, and backendTLS.
module adhere.test/e2e/crds/gateway-1.3

go 1.26.0

require sigs.k8s.io/gateway-api v1.3.0
