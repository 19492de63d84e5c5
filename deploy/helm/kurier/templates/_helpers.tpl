{{- define "kurier.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "kurier.instance" -}}
app.kubernetes.io/name: kurier
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Nodes alone: what the service leads to must never be the migration. */}}
{{- define "kurier.selector" -}}
{{ include "kurier.instance" . }}
app.kubernetes.io/component: node
{{- end -}}

{{- define "kurier.labels" -}}
{{ include "kurier.instance" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "kurier.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* What a node and the migration are told. Secrets are files, so that no environment holds them. */}}
{{- define "kurier.environment" -}}
- { name: ENVIRONMENT, value: production }
- { name: PUBLIC_URL, value: {{ .Values.publicUrl | quote }} }
- { name: REVOCATION, value: {{ .Values.revocation | quote }} }
- { name: PEPPOL_TRUST_DIR, value: /etc/kurier/trust }
- { name: MASTER_KEY_FILE, value: /etc/kurier/secrets/master-key }
- { name: ADMIN_TOKEN_FILE, value: /etc/kurier/secrets/admin-token }
- { name: DATABASE_URL_FILE, value: /etc/kurier/secrets/database-url }
- { name: AS4_KEYSTORE, value: /etc/kurier/secrets/keystore }
- { name: AS4_KEYSTORE_PASSWORD_FILE, value: /etc/kurier/secrets/keystore-password }
{{- if .Values.evidence.bucket }}
- { name: EVIDENCE_STORE_FILE, value: /etc/kurier/secrets/evidence-store }
{{- else }}
- { name: EVIDENCE_STORE, value: "file:/evidence" }
{{- end }}
{{- range $name, $value := .Values.environment }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end -}}

{{/* Of a node and of the migration; the claim of the evidence is made after the first migration, which writes none. */}}
{{- define "kurier.volumes" -}}
- name: data
  emptyDir: { sizeLimit: 2Gi }
- name: tmp
  emptyDir: { sizeLimit: 1Gi }
- name: secrets
  secret: { secretName: {{ .Values.secrets.name | quote }}, defaultMode: 0440 }
- name: trust
  configMap: { name: {{ .Values.trust.configMap | quote }} }
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "kurier.mounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /etc/kurier/secrets, readOnly: true }
- { name: trust, mountPath: /etc/kurier/trust, readOnly: true }
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "kurier.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
# Otherwise each start gives away every file of ten years' evidence before the node begins.
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "kurier.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
