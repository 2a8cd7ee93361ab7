package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Errors of files that are not complete results.
var (
	ErrNoResult  = errors.New("not a result of 'railhead bench'")
	ErrNotWhole  = errors.New("incomplete result: it refers to pods or rails that it does not contain")
	ErrOtherForm = errors.New("unknown schema version")
)

// ReadResult reads the JSON of a Result. The caller limits its size.
func ReadResult(r io.Reader) (Result, error) {
	var result Result
	switch err := json.NewDecoder(r).Decode(&result); {
	case err != nil:
		return Result{}, fmt.Errorf("%w: %w", ErrNoResult, err)
	case result.SchemaVersion < 1 || result.SchemaVersion > ResultVersion:
		return Result{}, fmt.Errorf("%w %d: this railhead reads versions up to %d",
			ErrOtherForm, result.SchemaVersion, ResultVersion)
	case !result.Whole():
		return Result{}, ErrNotWhole
	}
	return result, nil
}
