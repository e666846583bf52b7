// The definitions of the Policy Working Group, as Kyverno installs them: their own module cannot be downloaded.
module adhere.test/e2e/crds/policyreports

go 1.26.0

require github.com/kyverno/kyverno v1.13.4
