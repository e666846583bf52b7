// The definitions of OpenReports, which no set of a cluster's own definitions has.
module adhere.test/e2e/crds/reports

go 1.26.0

require github.com/openreports/reports-api v0.2.1
