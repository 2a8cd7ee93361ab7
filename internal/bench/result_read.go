package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What can be wrong with a result that was written elsewhere.
var (
	ErrNoResult  = errors.New("it is no result of 'railhead bench'")
	ErrNotWhole  = errors.New("it speaks of pods or rails that are not in it")
	ErrOtherForm = errors.New("it has another form")
)

// ReadResult reads a Result's JSON, which whoever asks has bounded.
func ReadResult(r io.Reader) (Result, error) {
	var result Result
	switch err := json.NewDecoder(r).Decode(&result); {
	case err != nil:
		return Result{}, fmt.Errorf("%w: %w", ErrNoResult, err)
	case result.SchemaVersion < 1 || result.SchemaVersion > ResultVersion:
		return Result{}, fmt.Errorf("%w: its version is %d, and this railhead reads up to %d", ErrOtherForm, result.SchemaVersion, ResultVersion)
	case !result.Whole():
		return Result{}, ErrNotWhole
	}
	return result, nil
}
