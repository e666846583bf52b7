#!/usr/bin/env bash
# A TLS scan as a step of a CI job. It reads the environment of openshift/release's step tls-scanner-run and writes the
# same artifacts, without privileges in the cluster: pods are reached through port-forwards. It ends with the exit code
# of the scan (docs/migrate-tls-scanner.md).
#
#   SCAN_NAMESPACE              namespaces, separated by commas; empty: all
#   PQC_CHECK                   true: every TLS listener must accept TLS 1.3 with a group with ML-KEM
#   TLS_PROFILE_TYPE            Old, Intermediate or Modern instead of the profiles that the cluster's objects set
#   TLS_SCANNER_CLUSTER_LABEL   HyperShift: management or guest; needs SHARED_DIR
#   SCAN_LIMIT_IPS              not used: all listeners are scanned
#   ARTIFACT_DIR                tls-scanner/ in it gets results.json, results.csv, junit_tls_scan.xml and scan.log
set -euo pipefail

artifacts=${ARTIFACT_DIR:-/tmp/artifacts}
results=$artifacts/tls-scanner
namespaces=${SCAN_NAMESPACE:-}
options=(--cluster --via port-forward)

case "${TLS_SCANNER_CLUSTER_LABEL:-}" in
"") ;;
management)
  export KUBECONFIG=${SHARED_DIR:?}/kubeconfig
  results=$results/management
  if [[ -z $namespaces && -f $SHARED_DIR/cluster-name ]]; then
    namespaces=clusters-$(<"$SHARED_DIR/cluster-name")
  fi
  ;;
guest)
  export KUBECONFIG=${SHARED_DIR:?}/nested_kubeconfig
  results=$results/guest
  ;;
*)
  echo "TLS_SCANNER_CLUSTER_LABEL=$TLS_SCANNER_CLUSTER_LABEL: write management or guest" >&2
  exit 2
  ;;
esac

if [[ -n $namespaces ]]; then
  options+=(--namespace "$namespaces")
fi
if [[ ${PQC_CHECK:-false} == true ]]; then
  options+=(--require postQuantum)
fi
if [[ -n ${SCAN_LIMIT_IPS:-} && $SCAN_LIMIT_IPS != 0 ]]; then
  echo "SCAN_LIMIT_IPS=$SCAN_LIMIT_IPS is not used: all listeners are scanned" >&2
fi
case "${TLS_PROFILE_TYPE:-}" in
"") ;;
Old | Intermediate | Modern)
  policy=$(mktemp)
  trap 'rm -f "$policy"' EXIT
  cat >"$policy" <<POLICY
apiVersion: adhere/v1
kind: ScanPolicy
overrides:
  - select: {endpoints: ["*"]}
    profile: ${TLS_PROFILE_TYPE,,}
    justification: TLS_PROFILE_TYPE of the job
POLICY
  options+=(--policy "$policy")
  ;;
*)
  echo "TLS_PROFILE_TYPE=$TLS_PROFILE_TYPE: write Old, Intermediate or Modern" >&2
  exit 2
  ;;
esac

mkdir -p "$results"
code=0
adhere scan "${options[@]}" --compat "tls-scanner=$results" --format text --format "text=$results/scan.log" \
  --format "html=$results/report.html" --format "json=$results/adhere.json" "$@" || code=$?
if [[ -f $results/junit_tls_scan.xml ]]; then
  label=${TLS_SCANNER_CLUSTER_LABEL:-}
  cp "$results/junit_tls_scan.xml" "$artifacts/junit_tls_scan${label:+_$label}.xml"
fi
exit "$code"
