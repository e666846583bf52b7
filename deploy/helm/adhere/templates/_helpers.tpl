{{- define "adhere.labels" -}}
app.kubernetes.io/name: adhere
app.kubernetes.io/part-of: adhere
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "adhere.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}{{ hasPrefix "sha256:" $tag | ternary "@" ":" }}{{ $tag }}
{{- end }}

{{- /* The template of a pod of the scan: (dict "root" $ "args" LIST). */}}
{{- define "adhere.pod" -}}
metadata:
  labels:
    app.kubernetes.io/name: adhere
  {{- if .root.Values.openshift }}
  annotations:
    openshift.io/required-scc: restricted-v2
  {{- end }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ .root.Release.Name }}
  terminationGracePeriodSeconds: 90
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 2 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    seccompProfile:
      type: RuntimeDefault
  containers:
  - name: adhere
    image: {{ include "adhere.image" .root | quote }}
    {{- with .root.Values.image.pullPolicy }}
    imagePullPolicy: {{ . }}
    {{- end }}
    args: {{- toYaml .args | nindent 4 }}
    env:
    - name: TMPDIR
      value: /tmp
    resources: {{- toYaml .root.Values.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
    - name: tmp
      mountPath: /tmp
    - name: report
      mountPath: /report
  volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 1Gi
  - name: report
    emptyDir:
      sizeLimit: 1Gi
{{- end }}
