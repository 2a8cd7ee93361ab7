package admission

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/railhead/railhead/internal/cluster"
	"github.com/railhead/railhead/internal/plan/job"
)

// review is an AdmissionReview (k8s.io/api admission/v1), as far as the webhook needs it.
type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID       string                    `json:"uid"`
	Namespace string                    `json:"namespace"`
	Object    unstructured.Unstructured `json:"object"`
}

type response struct {
	UID       string   `json:"uid"`
	Allowed   bool     `json:"allowed"`
	PatchType string   `json:"patchType,omitempty"`
	Patch     []byte   `json:"patch,omitempty"` // JSON
	Warnings  []string `json:"warnings,omitempty"`
	Status    *status  `json:"status,omitempty"`
}

type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

const forbidden = 403 // of HTTP

// Review answers an AdmissionReview with the decision about its pod. It changes nothing but the answer, so a dry run
// needs no care, and a pod that it sees again is left alone.
func Review(body []byte, s *cluster.State, o job.Options) ([]byte, Decision, error) {
	var r review
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, Decision{}, fmt.Errorf("read the AdmissionReview: %w", err)
	}
	if r.Request == nil || r.Request.Object.GetKind() != "Pod" {
		return nil, Decision{}, errors.New("the AdmissionReview has no pod")
	}
	pod := r.Request.Object
	d := Decide(pod, r.Request.Namespace, s, o)
	answer := &response{UID: r.Request.UID, Allowed: d.Outcome != Refused, Warnings: d.Warnings}
	switch d.Outcome {
	case Refused:
		answer.Status = &status{forbidden, d.Warnings[0]}
	case Injected:
		patch, err := json.Marshal(difference("", pod.Object, d.Pod.Object))
		if err != nil {
			return nil, d, err
		}
		answer.PatchType, answer.Patch = "JSONPatch", patch
	case Skipped, Failed:
	}
	text, err := json.Marshal(review{APIVersion: r.APIVersion, Kind: r.Kind, Response: answer})
	return text, d, err
}
