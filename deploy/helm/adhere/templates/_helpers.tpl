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

{{- /* The pod template of each workload. Call it with (dict "root" $ "args" LIST "volume" NAME); "results" is the volume
that the shards share, or "store" is: a directory in it, or a URL. "asRoot" is for what reads the results of the nodes. */}}
{{- define "adhere.pod" -}}
{{- $shared := eq .volume "results" -}}
{{- $url := contains "://" (.store | default "") -}}
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
  {{- if .asRoot }}
  automountServiceAccountToken: false
  {{- end }}
  terminationGracePeriodSeconds: 90
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 2 }}
  {{- end }}
  securityContext:
    {{- if .asRoot }}
    runAsUser: 0
    {{- else }}
    runAsNonRoot: true
    {{- end }}
    {{- if and $shared (not .root.Values.openshift) }}
    # The image's user writes to the volume.
    fsGroup: 10001
    {{- end }}
    seccompProfile:
      type: RuntimeDefault
  containers:
  - name: adhere
    image: {{ include "adhere.image" .root | quote }}
    {{- with .root.Values.image.pullPolicy }}
    imagePullPolicy: {{ . }}
    {{- end }}
    args: {{- toYaml .args | nindent 4 }}
    {{- if $url }}
    envFrom:
    # Its credentials, if the pod has no identity of its own.
    - secretRef:
        name: {{ .root.Release.Name }}-store
        optional: true
    {{- end }}
    env:
    - name: TMPDIR
      value: /tmp
    {{- with .store }}
    - name: ADHERE_STORE
      value: {{ . | quote }}
    {{- end }}
    {{- with .completions }}
    - name: JOB_COMPLETIONS
      value: {{ . | quote }}
    {{- end }}
    resources: {{- toYaml .root.Values.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
    - name: tmp
      mountPath: /tmp
    - name: {{ .volume }}
      mountPath: /{{ .volume }}
  volumes:
  - name: tmp
    emptyDir:
      sizeLimit: {{ .root.Values.volumeSize | quote }}
  - name: {{ .volume }}
    {{- if and $shared (not $url) }}
    persistentVolumeClaim:
      claimName: {{ .root.Release.Name }}-results
    {{- else }}
    emptyDir:
      sizeLimit: {{ .root.Values.volumeSize | quote }}
    {{- end }}
{{- end }}
